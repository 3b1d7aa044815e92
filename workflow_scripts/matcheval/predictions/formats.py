"""Formats of prediction files: each is read as named columns, before anything is checked."""

import gzip
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
from matcheval.predictions.json_records import read_records
from matcheval.predictions.layout import COLUMNS, KINDS, Layout

Column: TypeAlias = pa.ChunkedArray | npt.NDArray[Any]

SUFFIXES = KINDS_OF_DATASET[PREDICTIONS_KIND].suffixes
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_CLASSES_ONLY = (
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


def suffix_of(path: Path) -> str:
    """Return the suffix that says a file's format, in lower case, such as `.csv.gz`."""
    *_, before, last = ["", "", *path.suffixes]
    return (before + last if last.lower() == ".gz" else last).lower()


def read_raw(path: Path, layout: Layout) -> RawFile:
    """Read a prediction file of any format."""
    suffix = check_is_file(path)
    if suffix == ".npy":
        raise InputError("holds classes only, no probabilities", file=path, remedy=_CLASSES_ONLY)
    if suffix == ".npz":
        return _from_npz(path, layout)
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
    positions = layout.renamed(names, file)
    columns = _distinct([name for _, name in positions], layout, file)
    chosen = {name: table.column(positions[at][0]) for name, at in columns.items()}
    for name in {*COLUMNS} & {*chosen}:
        if _is_bytes(chosen[name]):
            raise InputError(
                "holds text that is not UTF-8",
                file=file,
                field=name,
                remedy="Save it as UTF-8; spreadsheets often save Latin-1",
            )
    return RawFile(file, chosen, names, _provenance(table.schema.metadata))


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
    """Return the position of every name; columns that are read may occur once only."""
    prefixes = tuple(prefix for kind in KINDS for prefix in layout.prefixes(kind))
    found: dict[str, int] = {}
    for at, name in enumerate(names):
        if name in found and (name in COLUMNS or name.startswith(prefixes)):
            raise InputError("occurs twice", file=file, field=name)
        found.setdefault(name, at)
    return found


def _provenance(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    """Return the metadata of a table, without those of pandas and Arrow."""
    return {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in (metadata or {}).items()
        if key not in (b"pandas", b"ARROW:schema")
    }


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
        raise InputError("holds classes only, no probabilities", file=path, remedy=_CLASSES_ONLY)
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


def _from_npz(path: Path, layout: Layout) -> RawFile:
    names = array_names(path)
    wanted = _wanted_arrays(names, layout, path)
    return _of_arrays(read_arrays(path, list(wanted.values())), wanted, names, path)


def raw_of_arrays(
    arrays: Mapping[str, npt.NDArray[Any]], layout: Layout, file: object
) -> RawFile:  # fmt: skip
    """Return arrays by their names here; those of other names are left out."""
    names = list(arrays)
    return _of_arrays(arrays, _wanted_arrays(names, layout, file), names, file)


def _wanted_arrays(names: list[str], layout: Layout, file: object) -> dict[str, str]:
    """Return the arrays' names of those that are read, by our names."""
    prefixes = tuple(prefix for kind in KINDS for prefix in layout.prefixes(kind))
    positions = [
        (names[at], ours)
        for at, ours in layout.renamed(names, file)
        if ours in COLUMNS or ours.startswith(prefixes)
    ]
    _distinct([ours for _, ours in positions], layout, file)
    return {ours: theirs for theirs, ours in positions}


def _of_arrays(
    arrays: Mapping[str, npt.NDArray[Any]],
    wanted: Mapping[str, str],
    names: list[str],
    file: object,
) -> RawFile:
    for theirs in wanted.values():
        if arrays[theirs].ndim == 0:
            raise InputError("is a single value, not an array", file=file, field=theirs)
    columns: dict[str, Column] = {ours: arrays[theirs] for ours, theirs in wanted.items()}
    return RawFile(file, columns, names, {}, is_arrays=True)


def _is_bytes(column: Column) -> bool:
    return not isinstance(column, np.ndarray) and (
        pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
    )


def texts_of(column: Column) -> npt.NDArray[Any] | None:
    """Return a column of texts as objects; None if it holds anything else."""
    if isinstance(column, np.ndarray):
        return column.astype(object) if column.dtype.kind == "U" and column.ndim == 1 else None
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    return np.array(column.cast(pa.large_string()).to_pylist(), object)
