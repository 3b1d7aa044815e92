"""Predictions in JSON and JSON Lines, as pandas, Weights & Biases, FiftyOne and others write."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.compressed import BROKEN, open_text
from matcheval.io.files import readable
from matcheval.predictions.column_names import is_known

Columns = dict[str, list[Any]]


def read_json_table(path: Path, *, is_lines: bool) -> pa.Table:
    """Read records, or columns; records in records become columns `a.b`."""
    with readable(path, "a readable file", *BROKEN), open_text(path) as stream:
        content = stream.read()
        is_utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = content.decode("utf-16" if is_utf16 else "utf-8-sig")
    arrays, columns = {}, _columns_of(_parsed(text, path, is_lines), path)
    for name, values in _with_scores(_with_likelihoods(columns, path), path).items():
        try:
            arrays[name] = pa.array(values)
        except (pa.ArrowException, OverflowError, TypeError) as error:
            if not is_known(name):
                continue  # such as a model's prompt, which nothing here reads
            reason = str(error).splitlines()[0]
            problem = f"holds values of several types, or none of a table ({reason:.200})"
            raise InputError(problem, file=path, field=name) from error
    return pa.table(arrays)


def _parsed(content: str, path: Path, is_lines: bool) -> Any:
    """Parse JSON, or JSON Lines, which files that end in `.json` may hold, too."""
    if not is_lines:
        with readable(path, "readable as JSON"):
            try:
                return json.loads(content)
            except json.JSONDecodeError as error:
                if error.msg != "Extra data":
                    raise
    found = []
    for number, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            with readable(f"{path}, line {number}", "readable as JSON"):
                found.append(json.loads(line))
    return found[0] if len(found) == 1 and isinstance(found[0], list) else found


def _columns_of(parsed: Any, path: Path) -> Columns:
    if isinstance(parsed, list):
        return _of_records(parsed, path)
    if not isinstance(parsed, Mapping):
        raise InputError("holds neither records nor columns", file=path)
    names, rows = parsed.get("columns"), parsed.get("data")
    if isinstance(names, list) and isinstance(rows, list):  # pandas, `split`; Weights & Biases
        if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
            problem = f"has rows of other lengths than its {len(names)} columns"
            raise InputError(problem, file=path, field="data")
        columns = {str(name): [row[at] for row in rows] for at, name in enumerate(names)}
        if len(columns) < len(names):
            raise InputError("names a column twice", file=path, field="columns")
        return _flat(columns)
    lists = [one for one in parsed.values() if isinstance(one, list)]
    others = [one for one in parsed.values() if not isinstance(one, list)]
    is_records = len(lists) == 1 and lists[0] and all(isinstance(r, Mapping) for r in lists[0])
    if is_records and not any(isinstance(one, list) for one in others):
        return _of_records(lists[0], path)  # {"samples": [...]} of FiftyOne, {"schema":, "data":}
    if len(parsed) > 1 and all(isinstance(one, Mapping) for one in parsed.values()):
        firsts = [set(one) for one in parsed.values()]
        if all(one == firsts[0] for one in firsts) and not any(map(is_known, parsed)):
            return {"key": list(parsed), **_of_records(list(parsed.values()), path)}
    return _by_column(parsed, path)


def _of_records(records: Sequence[Any], path: Path) -> Columns:
    if records and not any(isinstance(record, Mapping) for record in records):
        if all(_is_ranking(record) for record in records):  # of pipelines of Hugging Face
            return {"scores": list(records)}
        raise InputError(
            f"holds a list of {type(records[0]).__name__}, without names", file=path,
            remedy="Write records such as {\"label\": 0, \"prediction\": 0, \"probability\": 0.9}",
        )  # fmt: skip
    for number, record in enumerate(records, 1):
        if not isinstance(record, Mapping):
            raise InputError(f"entry {number} is not a record", file=path)
    names = dict.fromkeys(name for record in records for name in record)
    return _flat({name: [record.get(name) for record in records] for name in names})


def _flat(columns: Columns, depth: int = 0) -> Columns:
    """Replace records in a column, such as `ground_truth: {label: ...}`, by columns."""
    flat: Columns = {}
    for name, values in columns.items():
        filled = [value for value in values if value is not None]
        is_nested = filled and all(isinstance(value, Mapping) for value in filled)
        if not is_nested or name.casefold() == "scores" or depth > 2:
            flat[name] = values
            continue
        inner = dict.fromkeys(key for value in filled for key in value)
        parts = {
            f"{name}.{key}": [None if v is None else v.get(key) for v in values] for key in inner
        }
        flat |= _flat(parts, depth + 1)
    return flat


def _by_column(found: Mapping[str, Any], path: Path) -> Columns:
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
    return columns


def _with_likelihoods(columns: Columns, path: Path) -> Columns:
    """Replace answers of the LM Evaluation Harness, (log-likelihood, is greedy), by scores."""
    answers = columns.get("filtered_resps")
    if answers is None or "doc_id" not in columns:
        return columns
    with readable(path, "answers with a log-likelihood per choice", TypeError, IndexError):
        scores = [[float(choice[0]) for choice in answer] for answer in answers]
    return {name: columns[name] for name in columns if "resps" not in name} | {
        "filtered_resps": scores
    }


def _is_ranking(value: Any) -> bool:
    """Whether a value is a list of records of `label` and `score`, of one datapoint."""
    is_list = isinstance(value, list) and len(value) > 0
    return is_list and all(
        isinstance(one, Mapping) and {"label", "score"} <= {*one} for one in value
    )


def _with_scores(columns: Columns, path: Path) -> Columns:
    """Replace scores by class, as of Hugging Face's pipelines, by columns."""
    names = [n for n in columns if n.casefold() == "scores" or any(map(_is_ranking, columns[n]))]
    if not names:
        return columns
    name, values = names[0], columns[names[0]]
    firsts = (one[0] if isinstance(one, list) and one else one for one in values)
    if not any(isinstance(one, Mapping) for one in firsts):
        return columns
    others = {key: values for key, values in columns.items() if key != name}
    rows = [_by_class(value, row, path) for row, value in enumerate(values)]
    classes = list(rows[0])
    if all(set(row) == set(classes) for row in rows):
        return others | {f"prob_{one}": [row[one] for row in rows] for one in classes}
    best = [max(row, key=row.__getitem__) for row in rows]
    highest = [row[one] for row, one in zip(rows, best, strict=True)]
    return {"prediction": best, "probability": highest, **others}


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
            f"row {row} (from 0): no scores of different classes, but {value!r:.100}",
            file=path, field="scores",
            remedy="Give records of 'label' and 'score', or a list of probabilities",
        )  # fmt: skip
    return scores
