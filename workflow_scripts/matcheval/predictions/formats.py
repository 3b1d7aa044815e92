"""Formats of prediction files, and tables in memory: all are read as named columns, unchecked."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.array_archives import array_names, read_arrays
from matcheval.io.compressed import BROKEN, open_text
from matcheval.io.files import check_is_file, readable
from matcheval.io.tables import read_parquet
from matcheval.io.user_files import read_csv_table
from matcheval.names import PREDICTION_SUFFIXES as SUFFIXES
from matcheval.predictions.layout import COLUMNS, Layout

Column: TypeAlias = pa.ChunkedArray | npt.NDArray[Any]

CLASSES_ONLY = (
    "Matching needs probabilities; for the replication tables, give classes as datasets of kind "
    "'labels' (docs/replication.md)"
)


@dataclass(frozen=True, eq=False)
class InMemory:
    """A table or arrays in memory, with the name that messages have for it."""

    name: str
    data: pa.Table | Mapping[str, npt.NDArray[Any]]

    def __str__(self) -> str:
        """Return the name."""
        return self.name


Source: TypeAlias = str | os.PathLike[str] | InMemory


@dataclass(frozen=True, eq=False)
class RawFile:
    """What a prediction file, or a table in memory, holds, by the names that columns have here."""

    file: object
    layout: Layout
    columns: Mapping[str, Column]
    names: Sequence[str]
    metadata: Mapping[str, str] = field(default_factory=dict)
    is_arrays: bool = False

    @property
    def shown(self) -> str:
        """The names of its columns, as messages list them."""
        return ", ".join(self.names[:20]) + ", ..." * (len(self.names) > 20) or "none"


def suffix_of(path: Path) -> str:
    """Return the suffix that says a file's format, in lower case, such as `.csv.gz`."""
    *_, before, last = ["", "", *path.suffixes]
    return (before + last if last.lower() == ".gz" else last).lower()


def read_raw(source: Source, layout: Layout) -> RawFile:
    """Read a prediction file of any format, or take the columns of a table in memory."""
    if isinstance(source, InMemory):
        arrays = source.data
        if isinstance(arrays, pa.Table):
            return _of_table(arrays, layout, source)
        return _of_arrays(list(arrays), lambda _: arrays, layout, source)
    path = Path(source)
    check_is_file(path)
    suffix = suffix_of(path)
    if suffix == ".npy":
        raise InputError("holds classes only, no probabilities", file=path, remedy=CLASSES_ONLY)
    if suffix == ".npz":
        return _of_arrays(array_names(path), partial(read_arrays, path), layout, path)
    if suffix not in _READERS:
        raise InputError(
            f"unknown format of prediction file '{suffix}'", file=path,
            remedy=f"Use {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}",
        )  # fmt: skip
    return _of_table(_READERS[suffix](path), layout, path)


def read_lists(source: Source, names: Sequence[str], layout: Layout) -> dict[str, list[Any]]:
    """Read columns, or arrays by their own names, as far as they are there, as lists of values."""
    columns: Mapping[str, Column]
    if isinstance(source, InMemory) and isinstance(source.data, Mapping):
        columns = source.data
    elif not isinstance(source, InMemory) and suffix_of(Path(source)) == ".npz":
        columns = read_arrays(Path(source), names)
    else:
        columns = read_raw(source, layout).columns
    found = {}
    for name in [name for name in columns if name in names]:
        column = columns[name]
        if not isinstance(column, np.ndarray):
            found[name] = column.to_pylist()
        elif column.ndim == 1:
            found[name] = column.tolist()
        else:
            raise InputError(f"has shape {column.shape}, not (n,)", file=source, field=name)
    return found


def _of_table(table: pa.Table, layout: Layout, file: object) -> RawFile:
    names = table.schema.names
    chosen = {name: table.column(at) for name, at in layout.positions(names, file).items()}
    for name in {*COLUMNS} & {*chosen}:
        kind = chosen[name].type
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            remedy = "Save it as UTF-8; spreadsheets often save Latin-1"
            raise InputError("holds text that is not UTF-8", file=file, field=name, remedy=remedy)
    metadata = {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in (table.schema.metadata or {}).items()
        if key not in (b"pandas", b"ARROW:schema")  # which are no provenance
    }
    return RawFile(file, layout, chosen, names, metadata)


def _of_arrays(
    names: list[str],
    read: Callable[[list[str]], Mapping[str, npt.NDArray[Any]]],
    layout: Layout,
    file: object,
) -> RawFile:
    """Return arrays by their names here; those that are not read are left out."""
    columns = layout.positions(names, file)
    wanted = {ours: names[at] for ours, at in columns.items() if layout.reads(ours)}
    arrays = read(list(wanted.values()))
    for theirs in wanted.values():
        if arrays[theirs].ndim == 0:
            raise InputError("is a single value, not an array", file=file, field=theirs)
    found = {ours: arrays[theirs] for ours, theirs in wanted.items()}
    return RawFile(file, layout, found, names, is_arrays=True)


def _from_parquet(path: Path) -> pa.Table:
    table = read_parquet(path)
    try:
        _ = table.schema.names
        table.validate(full=True)  # texts that are not UTF-8, positions beyond a dictionary
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"a damaged Parquet file ({error})", file=path) from error
    return table


def _from_csv(path: Path) -> pa.Table:
    table = read_csv_table(path, "\t" if suffix_of(path).startswith(".tsv") else ",")
    header = table.schema.names[0] if table.num_columns == 1 else ""
    if any(mark in header for mark in ";\t,"):
        remedy = "Separate the columns by commas (.csv) or tabs (.tsv)"
        raise InputError(f"its header is '{header:.100}'", file=path, remedy=remedy)
    return table


def _from_json(path: Path) -> pa.Table:
    with readable(path, "a readable file", *BROKEN), open_text(path) as stream:
        content = stream.read().decode("utf-8-sig")
    parsed = _parsed(content, path)
    if isinstance(parsed, Mapping):
        columns = _by_column(parsed, path)
    elif not isinstance(parsed, list):
        raise InputError("holds neither records nor columns", file=path)
    elif parsed and not any(isinstance(record, Mapping) for record in parsed):
        raise InputError("holds classes only, no probabilities", file=path, remedy=CLASSES_ONLY)
    else:
        for number, record in enumerate(parsed, 1):
            if not isinstance(record, Mapping):
                raise InputError(f"entry {number} is not a record", file=path)
        names = dict.fromkeys(name for record in parsed for name in record)
        columns = {name: [record.get(name) for record in parsed] for name in names}
    arrays = {}
    for name, values in _with_scores(columns, path).items():
        try:
            arrays[name] = pa.array(values)
        except (pa.ArrowException, OverflowError, TypeError) as error:
            reason = str(error).splitlines()[0]
            problem = f"holds values of several types, or none of a table ({reason:.200})"
            raise InputError(problem, file=path, field=name) from error
    return pa.table(arrays)


def _parsed(content: str, path: Path) -> Any:
    """Parse JSON, or JSON Lines, which files that end in `.json` may hold, too."""
    if ".jsonl" not in suffix_of(path):
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
    return found


def _by_column(found: Mapping[str, Any], path: Path) -> dict[str, list[Any]]:
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


def _with_scores(columns: dict[str, list[Any]], path: Path) -> dict[str, list[Any]]:
    """Replace scores by class, as of Hugging Face's pipelines, by columns."""
    name = next((name for name in columns if name.casefold() == "scores"), None)
    values = columns.get(name or "", [])
    firsts = (one[0] if isinstance(one, list) and one else one for one in values)
    if name is None or not any(isinstance(one, Mapping) for one in firsts):
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


def texts_of(column: Column) -> npt.NDArray[Any] | None:
    """Return a column of texts as objects; None if it holds anything else."""
    if isinstance(column, np.ndarray):
        return column.astype(object) if column.dtype.kind == "U" and column.ndim == 1 else None
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    return np.array(column.cast(pa.large_string()).to_pylist(), object)


_READERS: Mapping[str, Callable[[Path], pa.Table]] = {
    ".parquet": _from_parquet,
    **dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz"), _from_csv),
    **dict.fromkeys((".json", ".jsonl", ".jsonl.gz"), _from_json),
}


def plain_values(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[Any]:
    """Return the values of a column without nulls, to be read only."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        # Not by `to_numpy`, which imports pandas.
        whole = column if isinstance(column, pa.Array) else column.combine_chunks()
        return np.from_dlpack(whole)
    return np.asarray(column)
