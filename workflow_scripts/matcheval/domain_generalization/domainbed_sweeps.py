"""Records that DomainBed's sweeps leave behind, and its rules of model selection.

A sweep is a folder of folders, one per run, each with a file `results.jsonl`: a JSON object per
evaluation, with the run's arguments in `args` and the accuracies `env0_in_acc`, `env0_out_acc`,
`env1_in_acc`, ... on the larger part and the validation part of every domain (facebookresearch/
DomainBed, `scripts/train.py`). The rules choose hyper-parameters and the step of a run without the
test domain (Gulrajani & Lopez-Paz 2021, In search of lost domain generalization, section 3).
"""

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from matcheval.errors import InputError
from matcheval.settings import explain

LOGGER = logging.getLogger(__name__)

RESULTS = "results.jsonl"
DEFAULT_GROUP = "0"  # DomainBed's seed 0 of the hyper-parameters stands for the defaults

# Names of the domains in DomainBed's order (`datasets.py`); others are numbered.
DOMAINS = {
    "ColoredMNIST": ("+90%", "+80%", "-90%"),
    "RotatedMNIST": ("0", "15", "30", "45", "60", "75"),
    "VLCS": ("C", "L", "S", "V"),
    "PACS": ("A", "C", "P", "S"),
    "OfficeHome": ("A", "C", "P", "R"),
    "TerraIncognita": ("L100", "L38", "L43", "L46"),
    "DomainNet": ("clip", "info", "paint", "quick", "real", "sketch"),
}

_REMEDY = "Delete the line, or leave out the run's folder"


@dataclass(frozen=True)
class Record:
    """Accuracies of one training run at one step, on both parts of every domain."""

    dataset: str
    algorithm: str
    group: str
    trial: int
    held_out: frozenset[str]
    step: int
    accuracies: Mapping[str, float]
    validation: Mapping[str, float]

    @property
    def run(self) -> tuple[str, str, str, int, frozenset[str]]:
        """What its run is identified by."""
        return self.dataset, self.algorithm, self.group, self.trial, self.held_out


# --- reading


class _Arguments(BaseModel):
    model_config = ConfigDict(strict=True)

    dataset: str
    algorithm: str
    hparams_seed: int
    trial_seed: int
    test_envs: list[int]


class _Row(BaseModel):
    """An evaluation; what it has besides are the accuracies."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)
    __pydantic_extra__: dict[str, Annotated[float, Field(ge=0, le=1)]]

    args: _Arguments
    step: Annotated[int, Field(ge=0)]


def read_sweep(folder: Path) -> list[Record]:
    """Read all runs of a sweep."""
    if not folder.is_dir():
        raise InputError("no such folder", file=folder)
    alone = (folder / RESULTS).is_file()
    runs = [folder] if alone else sorted(path for path in folder.iterdir() if path.is_dir())
    found = {run: read_run(run / RESULTS) for run in runs if (run / RESULTS).is_file()}
    found = {run: records for run, records in found.items() if records}
    if not found:
        problem = f"no run with records: {RESULTS} in a folder per run"
        raise InputError(problem, file=folder, remedy="Give the --output_dir of DomainBed's sweep")
    if len(found) < len(runs):
        LOGGER.warning("%d folders have no %s, or an empty one", len(runs) - len(found), RESULTS)
    folders: dict[object, str] = {}
    for run, (first, *_) in found.items():
        if (other := folders.setdefault(first.run, run.name)) != run.name:
            trial = f"{first.algorithm}, hyper-parameters {first.group}, trial {first.trial}"
            problem = f"holds the same run as {other}: {trial}, {sorted(first.held_out)} held out"
            raise InputError(problem, file=run, remedy="Keep one of them")
    records = [record for of_run in found.values() for record in of_run]
    domains = domains_of(records)
    for record in records:
        if list(record.accuracies) != domains[record.dataset]:
            problem = f"runs of {record.dataset} have different numbers of domains"
            raise InputError(problem, file=folder)
    last = {name: max(r.step for r in records if r.dataset == name) for name in domains}
    short = [run.name for run, (*_, end) in found.items() if end.step < last[end.dataset]]
    if short:
        LOGGER.warning("%d runs end before others do, such as %s", len(short), short[0])
    return records


def read_run(path: Path) -> list[Record]:
    """Read the records of a run; of several of one step, the last counts."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", file=path) from error
    records = [_record(line, f"{path}, line {number}") for number, line in enumerate(lines, 1)]
    by_step = {record.step: record for record in records}
    if len({record.run for record in by_step.values()}) > 1:
        remedy = "DomainBed gives every run a folder of its own"
        raise InputError("holds records of several runs", file=path, remedy=remedy)
    return [by_step[step] for step in sorted(by_step)]


def domains_of(records: Iterable[Record]) -> dict[str, list[str]]:
    """Return the domains of each dataset."""
    return {record.dataset: list(record.accuracies) for record in records}


def _record(line: str, place: str) -> Record:
    try:
        given = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        remedy = "If the run was killed while it wrote this line, delete the line"
        raise InputError("is not a JSON object", file=place, remedy=remedy) from error
    if isinstance(given, dict):
        used = re.compile(r"args|step|env\d+_(in|out)_acc")
        given = {name: value for name, value in given.items() if used.fullmatch(name)}
    try:
        row = _Row.model_validate(given)
    except ValidationError as error:
        problem = "; ".join(explain(error, _Row, given))
        raise InputError(problem, file=place, remedy=_REMEDY) from error
    arguments, accuracies = row.args, row.__pydantic_extra__
    n = len(accuracies) // 2
    keys = {part: [f"env{env}_{part}_acc" for env in range(n)] for part in ("in", "out")}
    if n < 2 or accuracies.keys() != {*keys["in"], *keys["out"]}:
        problem = "lacks accuracies: env0_in_acc, env0_out_acc, env1_in_acc, ... of some domains"
        raise InputError(problem, file=place, remedy=_REMEDY)
    names = DOMAINS.get(arguments.dataset) or tuple(map(str, range(n)))
    if len(names) != n:
        raise InputError(f"{arguments.dataset} has {len(names)} domains, not {n}", file=place)
    test_envs = arguments.test_envs
    if len(set(test_envs) & set(range(n))) < len(test_envs):
        problem = f"are {test_envs}, but must be different ones of {n} domains"
        raise InputError(problem, file=place, field="test_envs")
    inner, outer = (
        {name: accuracies[key] for name, key in zip(names, keys[part], strict=True)}
        for part in ("in", "out")
    )
    return Record(
        arguments.dataset, arguments.algorithm, str(arguments.hparams_seed), arguments.trial_seed,
        frozenset(names[env] for env in test_envs), row.step, inner, outer,
    )  # fmt: skip


# --- selection


class Rule(StrEnum):
    """What the hyper-parameters and the step are chosen by."""

    SOURCE_VALIDATION = "source-validation"
    LEAVE_ONE_OUT = "leave-one-domain-out"
    ORACLE = "oracle"


@dataclass(frozen=True)
class Choice:
    """A group of hyper-parameters and a step, with the accuracy that they are chosen by."""

    group: str
    step: int
    validation: float
    test: float


def choose(records: Iterable[Record], target: str, rule: Rule) -> Choice | None:
    """Choose the hyper-parameters and the step of one trial by the highest validation accuracy."""
    held_out = [record for record in records if target in record.held_out]
    groups = dict.fromkeys(record.group for record in held_out)
    candidates = (
        Choice(record.group, record.step, sum(found) / len(found), record.accuracies[target])
        for group in groups
        for record, found in _scored([r for r in held_out if r.group == group], target, rule)
    )
    return max(candidates, key=lambda choice: choice.validation, default=None)


def _scored(
    records: Sequence[Record], target: str, rule: Rule
) -> Iterator[tuple[Record, list[float]]]:
    """Yield the models of a group that saw all other domains, with what they are chosen by."""
    alone = [record for record in records if len(record.held_out) == 1]
    if rule is Rule.ORACLE and alone:
        last = max(alone, key=lambda record: record.step)
        yield last, [last.validation[target]]
    elif rule is Rule.SOURCE_VALIDATION:
        for record in alone:
            yield record, [value for name, value in record.validation.items() if name != target]
    elif rule is Rule.LEAVE_ONE_OUT:
        known = {(record.step, record.held_out): record for record in records}
        for record in alone:
            others = [name for name in record.accuracies if name != target]
            runs = [known.get((record.step, frozenset({target, name}))) for name in others]
            pairs = zip(runs, others, strict=True)
            found = [run.accuracies[name] for run, name in pairs if run is not None]
            if len(found) == len(others):
                yield record, found
