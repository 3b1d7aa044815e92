"""Prediction files of all formats: written in many ways, then damaged in bytes or in cells.

What is read must be what an independent reader finds in the same file (the csv and json modules,
pandas, NumPy), or what was written; a cell that cannot be valid must be refused.
"""

import argparse
import csv
import gzip
import io
import json
import logging
import tempfile
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.campaign import Outcome
from matcheval.cli.main import main
from matcheval.cli.predictions import read_layout
from matcheval.predictions.files import read_predictions
from matcheval.predictions.softmax import softmax

N_ROWS, CLASSES = 40, ("ant", "bee", "cow", "dog")
FORMATS = ("csv", "tsv", "csv.gz", "json", "jsonl", "parquet", "npz")
_EVERY = 10  # one in so many files goes through the whole command `compare`
_BAD_CELLS: dict[str, list[Any]] = {
    "label": ["", "nan", "-1", "0.5", "40000", "1e99", "\x00", "inf", "[1]"],
    "prediction": ["", "nan", "-7", "1.25", "99999999999999999999", "NULL"],
    "probability": ["", "nan", "-0.25", "1.5", "101", "inf", "1,5", "high"],
    "index": ["-1", "0.5", "3000000000", "nan", ""],
}


@dataclass
class Written:
    """A file as it was meant, and the arguments with which it is read."""

    columns: dict[str, list[Any]]
    expected: dict[str, np.ndarray]
    options: dict[str, Any]


def _meant(rng: np.random.Generator) -> Written:
    """Predictions in one of the many ways to write them."""
    logits = rng.normal(size=(N_ROWS, len(CLASSES))).astype(np.float32) * 2
    probabilities = softmax(logits)
    label, prediction = rng.integers(0, len(CLASSES), N_ROWS), logits.argmax(1)
    expected = {"label": label, "prediction": prediction, "probability": probabilities.max(1)}
    named, first = bool(rng.integers(2)), int(rng.integers(2))
    options: dict[str, Any] = {
        "columns": None, "classes": "classes.txt" if named else None,
        "first_label": 0 if named else first,
    }  # fmt: skip

    def shown(labels: np.ndarray) -> list[Any]:
        return [CLASSES[k] for k in labels] if named else (labels + first).tolist()

    columns: dict[str, list[Any]] = {"label": shown(label)}
    form = rng.integers(3)
    if form == 0:
        columns["prediction"] = shown(prediction)
        columns["probability"] = expected["probability"].tolist()
    else:
        kind, matrix = (("prob_", probabilities), ("logit_", logits))[form - 1]
        names = CLASSES if named else [str(k + first) for k in range(len(CLASSES))]
        columns |= {kind + names[k]: matrix[:, k].tolist() for k in rng.permutation(len(CLASSES))}
    if rng.integers(2):
        order = rng.permutation(N_ROWS)
        columns = {name: [values[i] for i in order] for name, values in columns.items()}
        columns["index"] = order.tolist()
    if rng.integers(3) == 0:
        columns["image"] = [f"image {i}.png" for i in range(N_ROWS)]
    if rng.integers(3) == 0:
        columns = {name.title() if "_" not in name else name: c for name, c in columns.items()}
    elif rng.integers(2):
        columns["truth"] = columns.pop("label")
        options["columns"] = "label=truth"
    names = list(columns)
    shuffled = {names[i]: columns[names[i]] for i in rng.permutation(len(names))}
    return Written(shuffled, expected, options)


def _bytes(columns: dict[str, list[Any]], form: str) -> bytes:
    if form.startswith(("csv", "tsv")):
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter="\t" if form == "tsv" else ",", lineterminator="\n")
        writer.writerows([columns.keys(), *zip(*columns.values(), strict=True)])
        content = text.getvalue().encode()
        return gzip.compress(content, mtime=0) if form.endswith("gz") else content
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if form == "json":
        return json.dumps(records).encode()
    if form == "jsonl":
        return "".join(json.dumps(record) + "\n" for record in records).encode()
    file = io.BytesIO()
    if form == "parquet":
        pq.write_table(pa.table(columns), file)
    else:
        np.savez(file, **{name: np.array(values) for name, values in columns.items()})
    return file.getvalue()


def _mutated(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(changed) + 1))
        kind = rng.integers(6)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << int(rng.integers(8))
        elif kind == 1 and at < len(changed):
            changed[at] = int(rng.integers(256))
        elif kind == 2:
            del changed[at : at + int(rng.integers(1, 30))]
        elif kind == 3:
            changed[at:at] = changed[: int(rng.integers(1, 60))]
        elif kind == 4:
            del changed[at:]
        else:
            pieces = [*(bytes([c]) for c in b',\n"\t\x00\xff-.e'), b"nan", b"[", b"{"]
            changed[at:at] = pieces[int(rng.integers(len(pieces)))]
    return bytes(changed)


def _independent(path: Path) -> dict[str, list[Any]]:
    """Columns of a file, read without the library."""
    name = path.name
    if name.endswith((".csv", ".tsv", ".csv.gz")):
        content = path.read_bytes()
        content = gzip.decompress(content) if name.endswith("gz") else content
        text = content.decode("utf-8-sig", errors="replace")  # in columns that are not read
        lines = [line for line in text.splitlines() if line]
        rows = list(csv.reader(lines, delimiter="\t" if name.endswith("tsv") else ","))
        cells = list(zip(*rows[1:], strict=True))
        return {key: list(cells[at]) for at, key in enumerate(rows[0])}
    if name.endswith((".json", ".jsonl")):
        text = path.read_text(encoding="utf-8-sig")
        with suppress(ValueError):
            return _by_column(json.loads(text))
        return _by_column([json.loads(line) for line in text.splitlines() if line.strip()])
    if name.endswith(".parquet"):
        frame = pd.read_parquet(path)
        return {str(key): frame[key].tolist() for key in frame}
    with np.load(path, allow_pickle=False) as arrays:
        return {key: arrays[key].tolist() for key in arrays}


def _by_column(records: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}


def _labels(values: list[Any], options: dict[str, Any]) -> np.ndarray:
    if options["classes"]:
        return np.array([CLASSES.index(str(value).strip()) for value in values])
    return np.array([float(value) for value in values]) - options["first_label"]


def _reference(path: Path, options: dict[str, Any]) -> dict[str, np.ndarray]:
    """What the file says, computed without the library, in order of the index."""
    given = {"truth": "label"} if options["columns"] else {}
    found = {}
    for key, values in _independent(path).items():
        small = key.strip().lower()
        known = {"label", "prediction", "probability", "index"}
        found[given.get(key.strip(), small if small in known else key.strip())] = values
    index = np.array([float(v) for v in found.get("index", range(len(found["label"])))])
    columns = {"label": _labels(found["label"], options)}
    if {"prediction", "probability"} <= set(found):
        columns["prediction"] = _labels(found["prediction"], options)
        columns["probability"] = np.array([float(v) for v in found["probability"]])
    else:
        is_logit = any(key.lower().startswith("logit_") for key in found)
        prefix = "logit_" if is_logit else "prob_"
        keys = {k[len(prefix) :]: k for k in found if k.lower().startswith(prefix)}
        names = CLASSES if options["classes"] else [
            str(k + options["first_label"]) for k in range(len(keys))]  # fmt: skip
        matrix = np.array([[float(v) for v in found[keys[name]]] for name in names]).T
        columns["prediction"] = matrix.argmax(1)
        columns["probability"] = (softmax(matrix) if is_logit else matrix).max(1)
    return {name: values[np.argsort(index, kind="stable")] for name, values in columns.items()}


def _agrees(found: Any, expected: dict[str, np.ndarray]) -> bool:
    return (
        len(found) == len(expected["label"])
        and np.array_equal(found.label, expected["label"])
        and np.array_equal(found.prediction, expected["prediction"])
        and np.allclose(found.probability, expected["probability"], atol=2e-6)
    )


def _with_bad_cell(columns: dict[str, list[Any]], rng: np.random.Generator) -> dict[str, list[Any]]:
    """Put a value that is never valid into a column that is read."""
    names = [n for n in columns if n.lower() in _BAD_CELLS or n == "truth"]
    name = names[int(rng.integers(len(names)))]
    bad = _BAD_CELLS["label" if name == "truth" else name.lower()]
    values = list(map(str, columns[name]))
    values[int(rng.integers(N_ROWS))] = bad[int(rng.integers(len(bad)))]
    return columns | {name: values}


def _whole_command(path: Path, options: dict[str, Any], other: Path) -> None:
    """Run `matched-eval compare` on the file; anything but success or one line is an error."""
    words = [f"--{key.replace('_', '-')}={value}" for key, value in options.items() if value]
    output, errors = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(output), redirect_stderr(errors):
            main(["compare", str(path), str(other), "--seeds", "1", *words])
    except SystemExit as error:
        if error.code != 1 or errors.getvalue().count("\n") < 1:
            raise AssertionError(f"exit {error.code}: {errors.getvalue()}") from error


def _is_right(path: Path, written: Written, damage: str, whole: bool) -> bool:
    """Read a file; whether that gives what was meant, or what an independent reader finds."""
    options = written.options
    if whole:
        _whole_command(path, options, path)
    layout, n_classes = read_layout(argparse.Namespace(**options), [path])
    predictions = read_predictions(path, n_classes, layout)
    if damage == "cell":
        return False
    if _agrees(predictions, written.expected):
        return True
    with suppress(ValueError, KeyError, TypeError, IndexError):
        return damage == "bytes" and _agrees(predictions, _reference(path, options))
    return False  # read, although an independent reader fails


def outcome(n: int, seed: int) -> Outcome:
    """Read `n` files: as written, with damaged bytes, or with a cell that is not valid."""
    rng = np.random.default_rng(seed)
    found = Outcome("inputs", seed)
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "classes.txt").write_text("\n".join(CLASSES))
        for number in range(n):
            written = _meant(rng)
            form = FORMATS[int(rng.integers(len(FORMATS)))]
            damage = ("none", "bytes", "bytes", "cell")[int(rng.integers(4))]
            if damage == "cell" and form in ("parquet", "npz", "json", "jsonl"):
                damage = "bytes"
            columns = _with_bad_cell(written.columns, rng) if damage == "cell" else written.columns
            content = _bytes(columns, form)
            path = folder / f"p.{form}"
            path.write_bytes(_mutated(content, rng) if damage == "bytes" else content)
            if written.options["classes"]:
                written.options["classes"] = str(folder / "classes.txt")
            what = f"number {number}: {form}, {damage}: {path.read_bytes()[:400]!r}"
            found.attempt(what, partial(_is_right, path, written, damage, number % _EVERY == 0))
            if damage == "none" and found.last == "refused":
                found.note("wrong", f"number {number}: {form} refused as written")
    logging.disable(logging.NOTSET)
    return found
