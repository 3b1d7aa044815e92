"""Import of the records that DomainBed's sweeps leave behind.

A sweep is a folder of folders, one per run, each with a file `results.jsonl`: a JSON object per
evaluation, with the run's arguments in `args` and the accuracies `env0_in_acc`, `env0_out_acc`,
`env1_in_acc`, ... on the larger part and the validation part of every domain (facebookresearch/
DomainBed, `scripts/train.py`).
"""

import json
import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from matcheval.errors import InputError


@dataclass(frozen=True)
class Record:
    """Accuracies of one training run at one step."""

    dataset: str
    algorithm: str
    group: str
    trial: int
    held_out: frozenset[str]
    step: int
    accuracies: Mapping[str, float]
    validation: Mapping[str, float]


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
_ACCURACY = re.compile(r"env(\d+)_(in|out)_acc")
_ARGUMENTS = {
    "dataset": str,
    "algorithm": str,
    "hparams_seed": int,
    "trial_seed": int,
    "test_envs": list,
}


def read_sweep(folder: Path) -> list[Record]:
    """Read all runs of a sweep."""
    if not folder.is_dir():
        raise InputError("no such folder", file=folder)
    own = folder / RESULTS
    runs = [folder] if own.is_file() else sorted(path for path in folder.iterdir() if path.is_dir())
    found = {run: read_run(run / RESULTS) for run in runs if (run / RESULTS).is_file()}
    records = [record for of_run in found.values() for record in of_run]
    if not records:
        raise InputError(
            f"no run with records: {RESULTS} in a folder per run",
            file=folder,
            remedy="Give the --output_dir of DomainBed's sweep",
        )
    empty = len(runs) - sum(map(bool, found.values()))
    if empty:
        LOGGER.warning("%d folders have no %s, or an empty one", empty, RESULTS)
    _check_distinct(found)
    _check_domains(records, folder)
    _warn_of_short_runs(found)
    return records


def read_run(path: Path) -> list[Record]:
    """Read the records of a run."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", file=path) from error
    by_step: dict[int, Record] = {}
    for number, line in enumerate(lines, start=1):
        record = _record(line, f"{path}, line {number}")
        by_step[record.step] = record
    if len({_run_of(record) for record in by_step.values()}) > 1:
        raise InputError(
            "holds records of several runs",
            file=path,
            remedy="DomainBed gives every run a folder of its own",
        )
    return [by_step[step] for step in sorted(by_step)]


def domains_of(records: list[Record]) -> dict[str, list[str]]:
    """Return the domains of each dataset."""
    return {record.dataset: list(record.accuracies) for record in records}


def _record(line: str, place: str) -> Record:
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(
            "is not a JSON object",
            file=place,
            remedy="If the run was killed while it wrote this line, delete the line",
        ) from error
    arguments = row.get("args") if isinstance(row, dict) else None
    if not isinstance(arguments, dict):
        raise InputError("lacks the run's arguments", file=place, field="args")
    for name, kind in _ARGUMENTS.items():
        _check_type(arguments, name, kind, place)
    _check_type(row, "step", int, place)
    if row["step"] < 0:
        raise InputError(f"is {row['step']}, below 0", file=place, field="step")
    accuracies = _accuracies(row, place)
    names = _domain_names(arguments["dataset"], len(accuracies["in"]), place)
    test_envs = arguments["test_envs"]
    if not all(type(env) is int and 0 <= env < len(names) for env in test_envs):
        raise InputError(
            f"are {test_envs}, but there are {len(names)} domains", file=place, field="test_envs"
        )
    if len(set(test_envs)) < len(test_envs):
        raise InputError(f"are {test_envs}, one of them twice", file=place, field="test_envs")
    return Record(
        dataset=arguments["dataset"],
        algorithm=arguments["algorithm"],
        group=str(arguments["hparams_seed"]),
        trial=arguments["trial_seed"],
        held_out=frozenset(names[env] for env in test_envs),
        step=row["step"],
        accuracies={name: accuracies["in"][env] for env, name in enumerate(names)},
        validation={name: accuracies["out"][env] for env, name in enumerate(names)},
    )


def _check_type(row: Mapping[str, Any], name: str, kind: type, place: str) -> None:
    if name not in row:
        raise InputError("missing", file=place, field=name, remedy=_REMEDY)
    if type(row[name]) is not kind:
        known = {str: "a text", int: "a whole number", list: "a list"}
        problem = f"is {json.dumps(row[name])}, not {known[kind]}"
        raise InputError(problem, file=place, field=name)


def _accuracies(row: Mapping[str, Any], place: str) -> dict[str, dict[int, float]]:
    """Return the accuracies on the larger parts (`in`) and the validation parts (`out`)."""
    found: dict[str, dict[int, float]] = {"in": {}, "out": {}}
    for name, value in row.items():
        match = _ACCURACY.fullmatch(name)
        if match is None:
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not (math.isfinite(value) and 0 <= value <= 1):
            raise InputError(
                f"is {json.dumps(value)}, not an accuracy in [0, 1]",
                file=place,
                field=name,
                remedy=_REMEDY,
            )
        found[match[2]][int(match[1])] = float(value)
    expected = set(range(len(found["in"])))
    if len(expected) < 2 or set(found["in"]) != expected or set(found["out"]) != expected:
        raise InputError(
            "lacks accuracies: env0_in_acc, env0_out_acc, env1_in_acc, ... of two or more domains",
            file=place,
            remedy=_REMEDY,
        )
    return found


def _domain_names(dataset: str, n: int, place: str) -> tuple[str, ...]:
    names = DOMAINS.get(dataset) or tuple(map(str, range(n)))
    if len(names) != n:
        raise InputError(f"{dataset} has {len(names)} domains, not {n}", file=place)
    return names


def _run_of(record: Record) -> tuple[str, str, str, int, frozenset[str]]:
    """Return what a run is identified by."""
    return record.dataset, record.algorithm, record.group, record.trial, record.held_out


def _check_distinct(found: Mapping[Path, list[Record]]) -> None:
    folders: dict[object, Path] = {}
    for folder, records in found.items():
        if not records:
            continue
        run = _run_of(records[0])
        if run in folders:
            raise InputError(
                f"holds the same run as {folders[run].name}: {run[1]}, hyper-parameters {run[2]}, "
                f"trial {run[3]}, held-out domains {', '.join(sorted(run[4]))}",
                file=folder,
                remedy="Keep one of them",
            )
        folders[run] = folder


def _check_domains(records: list[Record], folder: Path) -> None:
    domains = domains_of(records)
    for record in records:
        if list(record.accuracies) != domains[record.dataset]:
            raise InputError(
                f"runs of {record.dataset} have different numbers of domains", file=folder
            )


def _warn_of_short_runs(found: Mapping[Path, list[Record]]) -> None:
    last: dict[str, int] = {}
    for record in _all(found):
        last[record.dataset] = max(last.get(record.dataset, 0), record.step)
    short = [
        folder.name
        for folder, records in found.items()
        if records and records[-1].step < last[records[0].dataset]
    ]
    if short:
        LOGGER.warning("%d runs end before others do, such as %s", len(short), short[0])


def _all(found: Mapping[Path, list[Record]]) -> Iterator[Record]:
    for records in found.values():
        yield from records


Key = TypeVar("Key")


class Rule(StrEnum):
    """What the hyper-parameters and the step are chosen by."""

    SOURCE_VALIDATION = "source-validation"
    LEAVE_ONE_OUT = "leave-one-domain-out"
    ORACLE = "oracle"

    @property
    def description(self) -> str:
        """The rule's name in the tables of DomainBed."""
        return _DESCRIPTIONS[self]


_DESCRIPTIONS = {
    Rule.SOURCE_VALIDATION: "training-domain validation set",
    Rule.LEAVE_ONE_OUT: "leave-one-domain-out cross-validation",
    Rule.ORACLE: "test-domain validation set (oracle)",
}


@dataclass(frozen=True)
class Choice:
    """A chosen model."""

    group: str
    step: int
    validation: float
    test: float


def choose_steps(records: Iterable[Record], target: str, rule: Rule) -> dict[str, Choice]:
    """Choose a step for each group of hyper-parameters."""
    held_out = [record for record in records if target in record.held_out]
    choices = {
        group: _STEPS[rule](of_group, target)
        for group, of_group in _grouped(held_out, lambda record: record.group).items()
    }
    return {group: choice for group, choice in choices.items() if choice is not None}


def choose(records: Iterable[Record], target: str, rule: Rule) -> Choice | None:
    """Choose the hyper-parameters and the step of one trial."""
    choices = choose_steps(records, target, rule).values()
    return max(choices, key=lambda choice: choice.validation, default=None)


def choose_group(records: Iterable[Record], target: str, rule: Rule) -> str | None:
    """Choose the same hyper-parameters for all trials, as Sun et al. (2024) do."""
    trials = [
        choose_steps(of_trial, target, rule)
        for of_trial in _grouped(records, lambda record: record.trial).values()
    ]
    if not trials:
        return None
    means = {
        group: sum(choices[group].validation for choices in trials) / len(trials)
        for group in trials[0]
        if all(group in choices for choices in trials)
    }
    return max(means, key=lambda group: means[group], default=None)


def _by_source_validation(records: Sequence[Record], target: str) -> Choice | None:
    def choice(record: Record) -> Choice:
        sources = [record.validation[name] for name in record.validation if name != target]
        return Choice(
            record.group, record.step, sum(sources) / len(sources), record.accuracies[target]
        )

    alone = (choice(record) for record in records if len(record.held_out) == 1)
    return max(alone, key=lambda each: each.validation, default=None)


def _by_leaving_one_out(records: Sequence[Record], target: str) -> Choice | None:
    choices = []
    for step, of_step in _grouped(records, lambda record: record.step).items():
        runs = {record.held_out: record for record in of_step}
        if len(runs) < len(of_step):
            first = of_step[0]
            raise InputError(
                f"two records of {first.algorithm}, hyper-parameters {first.group}, trial "
                f"{first.trial}, held-out domains {target} and others, step {step}",
                file=first.dataset,
                remedy="Keep one run of each kind",
            )
        tested = runs.get(frozenset({target}))
        if tested is None:
            continue
        others = [name for name in tested.accuracies if name != target]
        if not all(frozenset({target, name}) in runs for name in others):
            continue
        accuracies = [runs[frozenset({target, name})].accuracies[name] for name in others]
        mean = sum(accuracies) / len(accuracies)
        choices.append(Choice(tested.group, step, mean, tested.accuracies[target]))
    return max(choices, key=lambda each: each.validation, default=None)


def _by_oracle(records: Sequence[Record], target: str) -> Choice | None:
    alone = [record for record in records if len(record.held_out) == 1]
    if not alone:
        return None
    last = max(alone, key=lambda record: record.step)
    return Choice(last.group, last.step, last.validation[target], last.accuracies[target])


_STEPS: dict[Rule, Callable[[Sequence[Record], str], Choice | None]] = {
    Rule.SOURCE_VALIDATION: _by_source_validation,
    Rule.LEAVE_ONE_OUT: _by_leaving_one_out,
    Rule.ORACLE: _by_oracle,
}


def _grouped(records: Iterable[Record], key: Callable[[Record], Key]) -> dict[Key, list[Record]]:
    """Return records by a key, keys in the order of their first record."""
    groups: dict[Key, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups
