"""Settings of domain generalisation, and the plan of the trainings that they need."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from matcheval.errors import ErrorCollector, InputError, configuration_error
from matcheval.settings import Count, Integer, Named, Settings, SomeNames, SomeUnique, SuiteName
from matcheval.training.options import ALGORITHMS, hyper_parameter_groups

if TYPE_CHECKING:
    from matcheval.datasets.dataset import Dataset


Rule = Literal["source_validation", "leave_one_domain_out", "oracle"]
SOURCE_VALIDATION: Rule = "source_validation"
LEFT_OUT: Rule = "leave_one_domain_out"
ORACLE: Rule = "oracle"
ERM = "erm"
FRECHET = "frechet_reference"  # the method that says how far a set is from the sources

# All trainings are planned at once: a seed given in place of their number would fill the memory.
_Few = Annotated[Integer, Field(ge=1, le=1000)]


class BlockSettings(Settings):
    """Sets to train on together, and the sets that the models are tested on."""

    sources: SomeNames = Field(description="Sets that models are trained on: one or several")
    targets: SuiteName = Field(
        description="Suite that they are tested on; none of its sets is a source"
    )


class ScoredSettings(Settings):
    """Scores of accuracy prediction on the targets of blocks, of the models of some algorithms."""

    algorithms: SomeUnique[str] = Field(
        (ERM, "sd"), description="Algorithms whose models are scored; ERM is always there"
    )
    methods: SomeUnique[str] = Field(
        ("nuclear_norm", FRECHET),
        description="Methods of accuracy prediction. The base is the validation parts of the "
        "sources, the reference their training parts",
    )


class DomainGeneralizationSettings(Settings):
    """Trainings on several sets by algorithms of domain generalisation, tested on other sets."""

    blocks: Named[BlockSettings] = Field({}, description="Choices of sources, by name")
    leave_one_out: Named[SuiteName] = Field(
        {},
        description="Suites whose sets are domains, by the name of the design: each set in turn is "
        "the target, and all others are sources",
    )
    columns: Literal["group", "subgroup"] = Field(
        "group", description="Sets that tables average: of a group, or of a subgroup of it"
    )
    algorithms: SomeUnique[str] = Field(
        tuple(ALGORITHMS), description="Names of algorithms (docs/models.md); ERM is always there"
    )
    groups: _Few = Field(
        3, description="Groups of hyper-parameters: the defaults, and others drawn at random"
    )
    options: dict[str, dict[str, Any]] = Field(
        {}, description="Options in all groups, by algorithm; they are not drawn"
    )
    scaled: bool = Field(
        True,
        description="Whether burn-ins and late learning rates are scaled from DomainBed's 5,001 "
        "steps and learning rate 5e-5 to those of this study",
    )
    seeds: _Few = Field(
        3, description="Number of trainings of each group; every seed has its own split"
    )
    validation_parts: Annotated[int, Field(ge=2)] = Field(
        5,
        description="One part in so many of each source is for validation, the same of all classes",
    )
    steps: Count = Field(5000, description="Steps of a training, rounded up to whole evaluations")
    evaluate_every: Count = Field(300, description="Steps between two evaluations")
    recipe: dict[str, Any] = Field(
        {}, description="Other columns of a model catalogue: architecture, batch_size, ..."
    )
    selection: SomeUnique[Rule] = Field(
        (SOURCE_VALIDATION, ORACLE),
        description="How groups are selected; the first is that of the figures",
    )
    scores: ScoredSettings | None = Field(
        None,
        description="Whether accuracies on the targets of blocks are also predicted without "
        "labels, and by which scores; not by default",
    )
    figure_algorithm: str | None = Field(
        None, description="Algorithm whose gain is drawn for every target set; the first by default"
    )

    @model_validator(mode="after")
    def _require_blocks_or_design(self) -> "DomainGeneralizationSettings":
        if self.model_fields_set and not self.blocks and not self.leave_one_out:
            raise ValueError("give blocks or leave_one_out: they say what to train on")
        return self


# --- The plan

# What becomes of an algorithm on the sources of a block.
TRAINED, SAME_AS_ERM, REFUSED = "trained", "= ERM", "refused"
# What the defaults and ranges of options are meant for: facebookresearch/DomainBed.
_STEPS, _LEARNING_RATE = 5001, 5e-5
_DIGITS = 4  # significant digits of scaled values


@dataclass(frozen=True)
class Group:
    """A group of hyper-parameters: an algorithm's options that differ from the defaults."""

    algorithm: str
    number: int
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Block:
    """Source sets to train on, and target sets to test on, each with its column in tables."""

    name: str
    design: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """A training run and the inference job that tests its model, or why there is no training."""

    sources: tuple[str, ...]
    group: Group
    seed: int
    state: str
    model: str
    note: str
    batch: str

    @property
    def source_batch(self) -> str:
        """Name of the inference job that runs scored models of this seed on their sources."""
        return f"{self.batch}.sources.seed-{self.seed}"


@dataclass(frozen=True)
class Plan:
    """All training runs, and the sets that their models are tested on, both by sources."""

    blocks: tuple[Block, ...] = ()
    runs: Mapping[tuple[str, ...], tuple[Run, ...]] = field(default_factory=dict)
    tested: Mapping[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    @property
    def trained(self) -> dict[str, Run]:
        """The runs that are trained, by model."""
        all_runs = (run for runs in self.runs.values() for run in runs)
        return {run.model: run for run in all_runs if run.state == TRAINED}

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Rows of the table `PLAN`, one per run, including those that are not trained."""
        return [
            {
                "sources": "+".join(sources),
                "purpose": ", ".join(b.name for b in self.blocks if b.sources == sources)
                or "selection",
                "algorithm": run.group.algorithm, "group": run.group.number,
                "options": json.dumps(dict(run.group.options), sort_keys=True), "seed": run.seed,
                "state": run.state, "model": run.model, "note": run.note,
            }
            for sources, runs in self.runs.items()
            for run in runs
        ]  # fmt: skip


def scaling(steps: int, learning_rate: float) -> dict[str, float]:
    """Return factors that scale DomainBed's burn-in steps and late learning rates to a recipe."""
    return {"burn_in_steps": steps / _STEPS, "late_learning_rate": learning_rate / _LEARNING_RATE}


def build_groups(
    algorithm: str, n: int, fixed: Mapping[str, Any], scale: Mapping[str, float]
) -> tuple[Group, ...]:
    """Build up to n distinct groups of hyper-parameters: scaled defaults, and others drawn."""
    fields = ALGORITHMS[algorithm].model_fields
    defaults = {name: option.default for name, option in fields.items()}
    groups: dict[str, Group] = {}
    for number, drawn in enumerate(hyper_parameter_groups(algorithm, n)):
        options = {**defaults, **drawn}
        options |= {name: _scale(options[name], scale[name]) for name in options.keys() & scale}
        options |= fixed
        changed = {name: options[name] for name in defaults if options[name] != defaults[name]}
        groups.setdefault(repr(changed), Group(algorithm, number, changed))
    return tuple(groups.values())


def _scale(value: float, factor: float) -> float | int:
    """Multiply a value, rounded to an integer if it was one, else to four significant digits."""
    if isinstance(value, int):
        return round(value * factor)
    return float(f"{value * factor:.{_DIGITS}g}")


def leave_each_out(sources: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return, for each source, all other sources; nothing for a single source."""
    rests = {out: tuple(name for name in sources if name != out) for out in sources}
    return {out: rest for out, rest in rests.items() if rest}


def make_plan(
    study: str, blocks: Sequence[Block], groups: Sequence[Group], seeds: int, *, leave_one_out: bool
) -> Plan:
    """List the training runs that blocks need, without duplicates, and the sets to test on."""
    tests = [(block.sources, block.targets) for block in blocks]
    if leave_one_out:
        for block in blocks:
            tests += [(rest, (out,)) for out, rest in leave_each_out(block.sources).items()]
    tested: dict[tuple[str, ...], tuple[str, ...]] = {}
    for sources, targets in tests:
        tested[sources] = tuple(dict.fromkeys((*tested.get(sources, ()), *targets)))
    runs = {sources: tuple(_list_runs(study, sources, groups, seeds)) for sources in tested}
    return Plan(tuple(blocks), runs, tested)


def model_prefix(study: str, sources: Sequence[str]) -> str:
    """Return the prefix shared by the names of all models trained on these source domains."""
    return f"{study}.{'.and.'.join(sources)}"


def _list_runs(
    study: str, sources: tuple[str, ...], groups: Sequence[Group], seeds: int
) -> Iterator[Run]:
    states = {"own": TRAINED, "erm": SAME_AS_ERM, "refused": REFUSED}
    for group in groups:
        kind = ALGORITHMS[group.algorithm]
        state = states[kind.single_source] if len(sources) == 1 else TRAINED
        algorithm, number = (ERM, 0) if state == SAME_AS_ERM else (group.algorithm, group.number)
        batch = f"{model_prefix(study, sources)}.{algorithm}"
        for seed in range(seeds):
            model, note = f"{batch}-{number}.seed-{seed}", ""
            if state == REFUSED:
                model, note = "", kind.refusal
            yield Run(sources, group, seed, state, model, note, batch)


def check_prepared_sets(
    blocks: Sequence[Block], sets: Mapping[str, "Dataset"], batch_size: int, parts: int
) -> None:
    """Check that sources have enough images of enough classes, and that targets match them."""
    from matcheval.datasets.dataset import check_alike

    problems = ErrorCollector()
    for name in dict.fromkeys(name for block in blocks for name in block.sources):
        with problems.collected():
            _check_source(sets[name], batch_size, parts)
    for block in blocks:
        sources, targets = ([sets[n] for n in names] for names in (block.sources, block.targets))
        with problems.collected():
            check_alike([*sources, *targets], f"domain_generalization, block {block.name}")
    problems.raise_any()


def _check_source(source: "Dataset", batch_size: int, parts: int) -> None:
    """Check that a source has two classes, images for a batch, and `parts` images per class."""
    counts = np.bincount(source.labels, minlength=source.n_classes)
    present = np.flatnonzero(counts)
    if len(present) < 2:
        problem = f"has images of class '{source.classes[present[0]]}' only"
        remedy = "Use sources with images of at least two classes"
        raise InputError(problem, file=source.name, field="labels", remedy=remedy)
    kept = len(source) - -(-len(source) // parts)
    if kept < batch_size:
        raise configuration_error(
            f"is {batch_size}, but {source.name} has {kept} images to train on",
            field="domain_generalization.recipe.batch_size",
            remedy=f"Give at most {kept}, or leave the source out",
        )
    if counts.min() < parts:
        label = source.classes[counts.argmin()]
        problem = f"has {counts.min()} images of class '{label}', fewer than {parts} parts"
        remedy = "Lower validation_parts, or use a larger set"
        raise InputError(problem, file=source.name, field="labels", remedy=remedy)
