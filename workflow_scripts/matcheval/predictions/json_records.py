"""Predictions in JSON: a record per datapoint, or a list per column."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matcheval.errors import InputError


def read_records(content: str, path: Path, *, is_lines: bool) -> dict[str, list[Any]] | None:
    """Read a table from JSON."""
    found = _lines(content, path) if is_lines else _parsed(content, path)
    if isinstance(found, Mapping):
        return _columns(found, path)
    if found and not any(isinstance(record, Mapping) for record in found):
        return None
    for number, record in enumerate(found):
        if not isinstance(record, Mapping):
            raise InputError(
                f"{'line' if is_lines else 'entry'} {number + 1} is not a record", file=path
            )
    names = dict.fromkeys(name for record in found for name in record)
    columns = {name: [record.get(name) for record in found] for name in names}
    return _with_scores(columns, path)


def _parsed(content: str, path: Path) -> Any:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data":
            return _lines(content, path)
        raise InputError(f"not readable as JSON ({error})", file=path) from error
    if not isinstance(found, list | dict):
        raise InputError("holds neither records nor columns", file=path)
    return found


def _lines(content: str, path: Path) -> list[Any]:
    found = []
    for number, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise InputError(
                    f"line {number} is not readable as JSON ({error})", file=path
                ) from error
    return found


def _columns(found: Mapping[str, Any], path: Path) -> dict[str, list[Any]]:
    """Take lists by column; where values are by row, all columns must have the same rows."""
    rows = next((list(values) for values in found.values() if isinstance(values, Mapping)), None)
    columns = {}
    for name, values in found.items():
        if isinstance(values, Mapping) and list(values) == rows:
            columns[name] = list(values.values())
        elif isinstance(values, list) and rows is None:
            columns[name] = values
        elif isinstance(values, list | Mapping):
            raise InputError("has other rows than the other columns", file=path, field=name)
    lengths = {name: len(values) for name, values in columns.items()}
    if not columns or len(set(lengths.values())) > 1:
        raise InputError(f"holds no columns of equal lengths; found {lengths}", file=path)
    return _with_scores(columns, path)


def _with_scores(columns: dict[str, list[Any]], path: Path) -> dict[str, list[Any]]:
    """Replace scores by class by columns."""
    name = next((name for name in columns if name.casefold() == "scores"), None)
    if name is None or not any(isinstance(_inner(one), Mapping) for one in columns[name]):
        return columns
    others = {key: values for key, values in columns.items() if key != name}
    rows = [_by_class(value, row, path) for row, value in enumerate(columns[name])]
    classes = list(rows[0])
    if all(set(row) == set(classes) for row in rows):
        return others | {f"prob_{one}": [row[one] for row in rows] for one in classes}
    best = [max(row.items(), key=lambda item: item[1]) for row in rows]
    first: dict[str, list[Any]] = {
        "prediction": [one[0] for one in best],
        "probability": [one[1] for one in best],
    }
    return first | others


def _inner(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _by_class(value: Any, row: int, path: Path) -> dict[str, float]:
    """Return the scores of one record by class."""
    pairs: Sequence[Any] = list(value.items()) if isinstance(value, Mapping) else []
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        pairs = [(one.get("label"), one.get("score")) for one in value]
    scores = {
        label: float(score)
        for label, score in pairs
        if isinstance(label, str) and isinstance(score, int | float) and abs(score) < 1e300
    }
    if not scores or len(scores) < len(pairs):
        raise InputError(
            f"row {row}: no scores of different classes, but {value!r:.100}",
            file=path,
            field="scores",
            remedy="Give records of 'label' and 'score', or a list of probabilities (rows are "
            "counted from 0)",
        )
    return scores
