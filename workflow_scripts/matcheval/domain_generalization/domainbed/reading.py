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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from matcheval.domain_generalization.domainbed.records import Record
from matcheval.errors import InputError

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
