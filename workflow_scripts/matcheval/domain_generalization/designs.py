"""Expansion of the settings into blocks, and into the trainings that they need."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matcheval.domain_generalization.groups import Group
from matcheval.domain_generalization.settings import ERM
from matcheval.training.options import ALGORITHMS, equals_erm

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
