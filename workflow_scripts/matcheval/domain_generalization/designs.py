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
    """Sources, and the sets that models trained on them are tested on.

    Attributes
    ----------
    name : str
        Its name; for a design that leaves one domain out, the target's.
    design : str
        Name of that design; empty for a block of its own.
    sources, targets : tuple of str
        Names of datasets, which have none in common.
    columns : tuple of str
        Of each target, what it is averaged with: its group in the suite, or its own name.
    """

    name: str
    design: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """A training, or why there is none.

    Attributes
    ----------
    sources : tuple of str
        Names of the training sets.
    group : Group
        Algorithm and options.
    seed : int
        Of the split of the sources, and of the training.
    state : str
        `TRAINED`, `SAME_AS_ERM` or `REFUSED`.
    model : str
        Name of the model; that of ERM's for `SAME_AS_ERM`, and empty for `REFUSED`.
    note : str
        Why it is refused.
    """

    sources: tuple[str, ...]
    group: Group
    seed: int
    state: str
    model: str
    note: str = ""


@dataclass(frozen=True)
class Plan:
    """All trainings of a study, and which block uses which.

    Attributes
    ----------
    blocks : tuple of Block
    runs : mapping of tuple of str to tuple of Run
        By the sources. Those of blocks come first; then, for selection by leaving one domain out,
        those of all sources but one.
    tested : mapping of str to tuple of str
        By model, the sets that it is tested on.
    """

    blocks: tuple[Block, ...]
    runs: Mapping[tuple[str, ...], tuple[Run, ...]]
    tested: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def trained(self) -> dict[str, Run]:
        """The runs that are trained, by model."""
        every = (run for runs in self.runs.values() for run in runs)
        return {run.model: run for run in every if run.state == TRAINED}


def without_each(sources: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return what is left of the sources without each of them.

    Parameters
    ----------
    sources : sequence of str
        Names; of one alone nothing can be left out.

    Returns
    -------
    dict of str to tuple of str
        By the name that is left out.
    """
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
    """List the trainings that blocks need, each once.

    Parameters
    ----------
    study : str
        Name of the study, with which the names of the models begin.
    blocks : sequence of Block
    groups : sequence of Group
        Of all algorithms, ERM among them.
    seeds : int
        Trainings of each group.
    leave_one_out : bool
        Whether groups are also selected by leaving out one source after the other.

    Returns
    -------
    Plan
    """
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
    """Return what the names of all models of the same sources begin with.

    Parameters
    ----------
    study : str
        Name of the study.
    sources : sequence of str

    Returns
    -------
    str
    """
    return f"{study}.{'.and.'.join(sources)}"


def batch_of(study: str, run: Run) -> str:
    """Return the name of the job that tests a model, with others of its sources and algorithm.

    Parameters
    ----------
    study : str
        Name of the study.
    run : Run
        One that is trained.

    Returns
    -------
    str
    """
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
    """Return the recipe of a training as the columns of a catalogue.

    Parameters
    ----------
    given : mapping of str to object
        Columns that the settings give.
    group : Group
        Algorithm and options.
    seed : int
        Of the training.
    epochs, epoch_steps : int
        Evaluations, and steps between two of them.

    Returns
    -------
    dict of str to object
    """
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
