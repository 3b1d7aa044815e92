"""Formats of prediction files: each is read as named columns, before anything is checked."""

import gzip
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.datasets.kinds import KINDS as KINDS_OF_DATASET
from matcheval.datasets.kinds import PREDICTIONS_KIND
from matcheval.errors import InputError
from matcheval.io.array_archives import array_names, read_arrays
from matcheval.io.tables import read_parquet
from matcheval.io.user_files import read_csv_table
from matcheval.predictions.layout import COLUMNS, Layout

Column: TypeAlias = pa.ChunkedArray | npt.NDArray[Any]

SUFFIXES = KINDS_OF_DATASET[PREDICTIONS_KIND].suffixes
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
CLASSES_ONLY = (
    "Matching needs probabilities; for the replication tables, give classes as datasets of kind "
    "'labels' (docs/replication.md)"
)


@dataclass(frozen=True, eq=False)
class RawFile:
    """What a prediction file holds, unchecked."""

    file: object
    columns: dict[str, Column]
    names: list[str]
    metadata: dict[str, str]
    is_arrays: bool = False

    @property
    def shown(self) -> str:
        """The names of its columns, as messages list them."""
        return ", ".join(self.names[:20]) + ", ..." * (len(self.names) > 20) or "none"


def suffix_of(path: Path) -> str:
    """Return the suffix that says a file's format, in lower case, such as `.csv.gz`."""
    *_, before, last = ["", "", *path.suffixes]
    return (before + last if last.lower() == ".gz" else last).lower()


def read_raw(path: Path, layout: Layout) -> RawFile:
    """Read a prediction file of any format."""
    suffix = check_is_file(path)
    if suffix == ".npy":
        raise InputError("holds classes only, no probabilities", file=path, remedy=CLASSES_ONLY)
    if suffix == ".npz":
        return _of_arrays(array_names(path), partial(read_arrays, path), layout, path)
    readers: dict[str, Callable[[Path], pa.Table]] = {
        ".parquet": _from_parquet,
        **dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz"), _from_csv),
        **dict.fromkeys((".json", ".jsonl", ".jsonl.gz"), _from_json),
    }
    if suffix not in readers:
        raise InputError(
            f"unknown format of prediction file '{suffix}'",
            file=path,
            remedy=f"Use {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}",
        )
    return raw_of_table(readers[suffix](path), layout, path)


def raw_of_table(table: pa.Table, layout: Layout, file: object) -> RawFile:
    """Return the columns of a table by their names here."""
    names = table.schema.names
    chosen = {name: table.column(at) for name, at in _distinct(names, layout, file).items()}
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
    return RawFile(file, chosen, names, metadata)


def check_is_file(path: Path) -> str:
    """Check that a file is there, and return its suffix."""
    try:
        found = path.is_file()
    except (OSError, ValueError) as error:  # too long, a loop of links, a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"no such file ({reason})", file=path) from error
    if not found:
        what = "is a folder" if path.is_dir() else "no such file"
        if path.is_symlink():
            what += ": it is a link to nothing, or to itself"
        raise InputError(what, file=path)
    return suffix_of(path)


def _distinct(names: list[str], layout: Layout, file: object) -> dict[str, int]:
    """Return the position of every column by our name; those that are read may occur once only."""
    found: dict[str, int] = {}
    for at, name in layout.renamed(names, file):
        if name in found and layout.reads(name):
            raise InputError("occurs twice", file=file, field=name)
        found.setdefault(name, at)
    return found


def _from_parquet(path: Path) -> pa.Table:
    table = read_parquet(path)
    try:
        _ = table.schema.names
        table.validate(full=True)  # texts that are not UTF-8, positions beyond a dictionary
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"a damaged Parquet file ({error})", file=path) from error
    return table


def _from_csv(path: Path) -> pa.Table:
    separator = _SEPARATORS[suffix_of(path).removesuffix(".gz")]
    table = read_csv_table(path, separator)
    header = table.schema.names[0] if table.num_columns == 1 else ""
    if any(mark in header for mark in ";\t,"):
        raise InputError(
            f"its header is '{header:.100}'",
            file=path,
            remedy="Separate the columns by commas (.csv) or tabs (.tsv)",
        )
    return table


def _from_json(path: Path) -> pa.Table:
    try:
        opened = gzip.open if path.suffix.lower() == ".gz" else open
        with opened(path, "rb") as stream:
            content = stream.read().decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"not a readable file ({error})", file=path) from error
    columns = read_records(content, path, is_lines=".jsonl" in suffix_of(path))
    if columns is None:
        raise InputError("holds classes only, no probabilities", file=path, remedy=CLASSES_ONLY)
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = pa.array(values)
        except (pa.ArrowException, OverflowError, TypeError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(
                f"holds values of several types, or none of a table ({reason:.200})",
                file=path,
                field=name,
            ) from error
    return pa.table(arrays)


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


def raw_of_arrays(
    arrays: Mapping[str, npt.NDArray[Any]], layout: Layout, file: object
) -> RawFile:  # fmt: skip
    """Return arrays by their names here; those of other names are left out."""
    return _of_arrays(list(arrays), lambda _: arrays, layout, file)


def _of_arrays(
    names: list[str],
    read: Callable[[list[str]], Mapping[str, npt.NDArray[Any]]],
    layout: Layout,
    file: object,
) -> RawFile:
    columns = _distinct(names, layout, file)
    wanted = {ours: names[at] for ours, at in columns.items() if layout.reads(ours)}
    arrays = read(list(wanted.values()))
    for theirs in wanted.values():
        if arrays[theirs].ndim == 0:
            raise InputError("is a single value, not an array", file=file, field=theirs)
    found: dict[str, Column] = {ours: arrays[theirs] for ours, theirs in wanted.items()}
    return RawFile(file, found, names, {}, is_arrays=True)


def texts_of(column: Column) -> npt.NDArray[Any] | None:
    """Return a column of texts as objects; None if it holds anything else."""
    if isinstance(column, np.ndarray):
        return column.astype(object) if column.dtype.kind == "U" and column.ndim == 1 else None
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    return np.array(column.cast(pa.large_string()).to_pylist(), object)
