"""Expansion of the settings into blocks, and into the trainings that they need."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from matcheval.domain_generalization.settings import ERM
from matcheval.errors import ErrorCollector, InputError, configuration_error
from matcheval.training.options import ALGORITHMS, equals_erm, read_options
from matcheval.training.search import hyper_parameter_groups

if TYPE_CHECKING:
    from matcheval.datasets.dataset import Dataset

# What the defaults and ranges of options are meant for: facebookresearch/DomainBed.
_STEPS, _LEARNING_RATE = 5001, 5e-5
_DIGITS = 4  # significant digits of scaled values


@dataclass(frozen=True)
class Group:
    """A group of hyper-parameters of an algorithm."""

    algorithm: str
    number: int
    options: Mapping[str, Any]


def groups_of(
    algorithm: str,
    n: int,
    seed: int,
    given: Mapping[str, Any],
    scale: Mapping[str, float],
) -> tuple[Group, ...]:
    """Return the groups of an algorithm."""
    kind = ALGORITHMS[algorithm]
    read_options(algorithm, "sgd", given)
    most = min(n, 1 + len(kind.groups)) if kind.groups else n
    found: dict[str, Group] = {}
    for number, drawn in enumerate(hyper_parameter_groups(algorithm, most, seed)):
        scaled = {
            name: _scaled(drawn.get(name, kind.model_fields[name].default), scale[name])
            for name in kind.model_fields.keys() & scale.keys()
        }
        options = {**drawn, **scaled, **given}
        different = {
            name: options[name]
            for name, field in kind.model_fields.items()
            if name in options and options[name] != field.default
        }
        found.setdefault(repr(different), Group(algorithm, number, different))
    return tuple(found.values())


def scaling(steps: int, learning_rate: float) -> dict[str, float]:
    """Return the factors that fit options in steps, and learning rates, to a recipe."""
    return {
        "burn_in_steps": steps / _STEPS,
        "late_learning_rate": learning_rate / _LEARNING_RATE,
    }


def _scaled(value: float, factor: float) -> float | int:
    if isinstance(value, int):
        return round(value * factor)
    return float(f"{value * factor:.{_DIGITS}g}")


# What becomes of an algorithm on the sources of a block.
TRAINED, SAME_AS_ERM, REFUSED = "trained", "= ERM", "refused"


@dataclass(frozen=True)
class Block:
    """Sources, and the sets that models trained on them are tested on."""

    name: str
    design: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """A training, or why there is none."""

    sources: tuple[str, ...]
    group: Group
    seed: int
    state: str
    model: str
    note: str = ""


@dataclass(frozen=True)
class Plan:
    """All trainings of a study, and which block uses which."""

    blocks: tuple[Block, ...]
    runs: Mapping[tuple[str, ...], tuple[Run, ...]]
    tested: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def trained(self) -> dict[str, Run]:
        """The runs that are trained, by model."""
        every = (run for runs in self.runs.values() for run in runs)
        return {run.model: run for run in every if run.state == TRAINED}


def without_each(sources: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return what is left of the sources without each of them."""
    if len(sources) == 1:
        return {}
    return {out: tuple(name for name in sources if name != out) for out in sources}


def make_plan(
    study: str,
    blocks: Sequence[Block],
    groups: Sequence[Group],
    seeds: int,
    *,
    leave_one_out: bool,
) -> Plan:
    """List the trainings that blocks need, each once."""
    needed: dict[tuple[str, ...], list[str]] = {}
    for block in blocks:
        needed.setdefault(block.sources, []).extend(block.targets)
    for block in blocks if leave_one_out else ():
        for out, rest in without_each(block.sources).items():
            needed.setdefault(rest, []).append(out)
    runs = {sources: tuple(_runs(study, sources, groups, seeds)) for sources in needed}
    tested = {
        run.model: tuple(dict.fromkeys(needed[sources]))
        for sources, every in runs.items()
        for run in every
        if run.state == TRAINED
    }
    return Plan(tuple(blocks), runs, tested)


def name_of_sources(study: str, sources: Sequence[str]) -> str:
    """Return what the names of all models of the same sources begin with."""
    return f"{study}.{'.and.'.join(sources)}"


def batch_of(study: str, run: Run) -> str:
    """Return the name of the job that tests a model, with others of its sources and algorithm."""
    return f"{name_of_sources(study, run.sources)}.{run.group.algorithm}"


def _runs(
    study: str, sources: tuple[str, ...], groups: Sequence[Group], seeds: int
) -> Iterator[Run]:
    for group in groups:
        kind = ALGORITHMS[group.algorithm]
        refused = kind.single_source == "refused" and len(sources) == 1
        same = equals_erm(group.algorithm, len(sources))
        state = REFUSED if refused else SAME_AS_ERM if same else TRAINED
        for seed in range(seeds):
            algorithm, number = (ERM, 0) if same else (group.algorithm, group.number)
            name = f"{name_of_sources(study, sources)}.{algorithm}-{number}.seed-{seed}"
            note = kind.refusal if refused else ""
            yield Run(sources, group, seed, state, "" if refused else name, note)


def recipe_values(
    given: Mapping[str, Any], group: Group, seed: int, epochs: int, epoch_steps: int
) -> dict[str, Any]:
    """Return the recipe of a training as the columns of a catalogue."""
    options = {**given.get("options", {}), **group.options}
    own = {
        "algorithm": group.algorithm, "options": options, "seed": seed, "epochs": epochs,
        "epoch_steps": epoch_steps, "keep": "best",
    }  # fmt: skip
    return {**DEFAULT_RECIPE, **given, **own}


# DomainBed's recipe, as far as it does not depend on the images.
DEFAULT_RECIPE: Mapping[str, Any] = {
    "loss": "cross_entropy", "loss_parameter": None, "augmentation": "none", "schedule": "constant",
    "batch_size": 32, "learning_rate": 5e-5, "weight_decay": 0, "train_fraction": 1,
    "optimizer": "adam", "normalization": "channels",
}  # fmt: skip
# Columns that the protocol determines.
PROTOCOL_COLUMNS = (
    "algorithm", "epochs", "epoch_steps", "keep", "seed", "seeded_by", "train", "train_fraction",
)  # fmt: skip


_ANALYSIS = "domain_generalization"


def check_images(
    blocks: Sequence[Block], sets: Mapping[str, "Dataset"], batch_size: int, parts: int
) -> None:
    """Check prepared sources and targets, before any training."""
    problems = ErrorCollector()
    sources = dict.fromkeys(name for block in blocks for name in block.sources)
    for name in sources:
        with problems.collected():
            _check_source(sets[name], batch_size, parts)
    for block in blocks:
        first = sets[block.sources[0]]
        for name in (*block.sources[1:], *block.targets):
            for field in ("classes", "image_shape", "max_value"):
                ours, theirs = getattr(first, field), getattr(sets[name], field)
                with problems.collected():
                    if ours != theirs:
                        raise InputError(
                            f"is {theirs} in {name}, but {ours} in {first.name}",
                            file=f"{_ANALYSIS}, block {block.name}",
                            field=field,
                            remedy="Use sets that do not differ in it",
                        )
    problems.raise_any()


def _check_source(source: "Dataset", batch_size: int, parts: int) -> None:
    counts = np.bincount(source.labels, minlength=source.n_classes)
    present = np.flatnonzero(counts)
    if len(present) < 2:
        raise InputError(
            f"has images of class '{source.classes[present[0]]}' only",
            file=source.name,
            field="labels",
            remedy="Use sources with images of at least two classes",
        )
    kept = len(source) - -(-len(source) // parts)
    if kept < batch_size:
        raise configuration_error(
            f"is {batch_size}, but {source.name} has {kept} images to train on",
            field=f"{_ANALYSIS}.recipe.batch_size",
            remedy=f"Give at most {kept}, or leave the source out",
        )
    if counts.min() < parts:
        label = source.classes[counts.argmin()]
        raise InputError(
            f"has {counts.min()} images of class '{label}', fewer than {parts} parts",
            file=source.name,
            field="labels",
            remedy="Lower validation_parts, or use a larger set",
        )
