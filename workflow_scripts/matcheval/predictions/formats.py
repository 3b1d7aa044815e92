"""Read prediction files of any format, and tables in memory, as columns with unchecked values."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.compressed import check_unpacked
from matcheval.io.delimited_text import check_has_header, read_delimited
from matcheval.io.files import check_is_file, readable
from matcheval.io.tables import read_parquet
from matcheval.names import COMPRESSED, NAMED_SUFFIXES, PREDICTION_SUFFIXES
from matcheval.predictions import array_files
from matcheval.predictions.array_files import Arrays
from matcheval.predictions.column_names import ACCURACIES, plain

Column: TypeAlias = pa.ChunkedArray | npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class InMemory:
    """A table or arrays in memory, with the name that messages have for it."""

    name: str
    data: pa.Table | Arrays

    def __str__(self) -> str:
        """Return the name."""
        return self.name


Source: TypeAlias = str | os.PathLike[str] | InMemory


@dataclass(frozen=True, eq=False)
class Loaded:
    """The columns or arrays of a file, by their own names; `read` returns some of them.

    `written` says how a text file is written where that is not the usual way.
    """

    file: object
    names: Sequence[str]
    read: Callable[[Sequence[str]], Mapping[str, Column]]
    metadata: Mapping[str, str] = field(default_factory=dict)
    is_arrays: bool = False
    written: Sequence[str] = ()


def suffix_of(path: Path) -> str:
    """Return the suffix that says a file's format, in lower case, such as `.csv.gz`."""
    *_, before, last = ["", "", *path.suffixes]
    return (before + last if last.lower() in COMPRESSED else last).lower()


def stem_of(path: Path) -> str:
    """Return a file's name without this suffix."""
    return path.name[: len(path.name) - len(suffix_of(path))]


def load(source: Source) -> Loaded:
    """Open a prediction file of any format, or take the columns of a table in memory."""
    if isinstance(source, InMemory):
        if isinstance(source.data, pa.Table):
            return _of_table(source.data, source)
        return _of_arrays(list(source.data), lambda _: source.data, source)
    path = Path(source)
    check_is_file(path)
    suffix = suffix_of(path)
    if suffix in array_files.SUFFIXES:
        found = array_files.read_array_file(path, suffix)
        return _of_arrays(found.names, lambda names: found.read(list(names)), path)
    plain = suffix
    for packed in COMPRESSED:
        plain = plain.removesuffix(packed)
    if plain in _TEXT:
        table, written = read_delimited(path)
        check_has_header(table, path)
        return _of_table(table, path, written)
    if plain not in _READERS:
        known = ", ".join((*(s for s in PREDICTION_SUFFIXES if s.count(".") == 1), *NAMED_SUFFIXES))
        raise InputError(
            f"unknown format of prediction file '{suffix}'", file=path,
            remedy=f"Use {known}; text may be compressed ({', '.join(COMPRESSED)})",
        )  # fmt: skip
    return _of_table(_READERS[plain](path), path)


def read_lists(source: Source, names: Sequence[str]) -> dict[str, list[Any]]:
    """Read columns or arrays by their own names, as far as they are there, as lists of values."""
    loaded = load(source)
    by_small = {name.casefold().strip(): name for name in reversed(loaded.names)}
    columns = loaded.read([by_small[name] for name in names if name in by_small])
    found = {}
    for name in [name for name in names if name in by_small]:
        column = columns[by_small[name]]
        if isinstance(column, np.ndarray) and column.ndim != 1:
            raise InputError(f"has shape {column.shape}, not (n,)", file=source, field=name)
        found[name] = as_list(column)
    return found


def _of_table(table: pa.Table, file: object, written: Sequence[str] = ()) -> Loaded:
    names = table.schema.names
    metadata = {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in (table.schema.metadata or {}).items()
        if key not in (b"pandas", b"huggingface", b"ARROW:schema")  # which are no provenance
    }

    position = {name: at for at, name in reversed(list(enumerate(names)))}

    def read(wanted: Sequence[str]) -> Mapping[str, Column]:
        return {name: _usual(table.column(position[name])) for name in wanted}

    return Loaded(file, names, read, metadata, written=written)


def _usual(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return decimal numbers as floats, and texts of newer types of Arrow as usual ones."""
    if pa.types.is_decimal(column.type):
        return column.cast(pa.float64())
    is_view = getattr(pa.types, "is_string_view", lambda _: False)
    return column.cast(pa.large_string()) if is_view(column.type) else column


def _of_arrays(
    names: list[str], read: Callable[[Sequence[str]], Arrays], file: object
) -> Loaded:  # fmt: skip
    def checked(wanted: Sequence[str]) -> Mapping[str, Column]:
        arrays = read(wanted)
        return {name: _usual_shape(arrays[name], name, file) for name in wanted}

    return Loaded(file, names, checked, is_arrays=True)


def _usual_shape(array: npt.NDArray[Any], name: str, file: object) -> npt.NDArray[Any]:
    if array.ndim == 0 and plain(name) in ACCURACIES:
        return array.reshape(1)
    if array.ndim == 0:
        raise InputError("is a single value, not an array", file=file, field=name)
    if array.dtype.kind == "S":
        with readable(str(file), "text in UTF-8"):
            array = np.char.decode(array, "utf-8")
    return array


def _from_parquet(path: Path) -> pa.Table:
    return _validated(read_parquet(path), path, "Parquet")


def _validated(table: pa.Table, path: Path, kind: str) -> pa.Table:
    try:
        _ = table.schema.names
        table.validate(full=True)  # texts that are not UTF-8, positions beyond a dictionary
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"a damaged {kind} file ({error})", file=path) from error
    return table


def _from_arrow(path: Path) -> pa.Table:
    """Read Feather, and Arrow's format of files or of streams, as of Hugging Face's datasets."""
    with readable(path, "a readable Arrow file", pa.ArrowException), pa.OSFile(str(path)) as file:
        is_stream = file.read(6) != b"ARROW1"
        file.seek(0)
        reader = pa.ipc.open_stream(file) if is_stream else pa.ipc.open_file(file)
        n = None if is_stream else reader.num_record_batches
        batches, unpacked = [], 0
        batch_of = (reader.get_batch(i) for i in range(n)) if n is not None else iter(reader)
        for batch in batch_of:
            unpacked += batch.nbytes
            check_unpacked(path.stat().st_size, unpacked, path)
            batches.append(batch)
        table = pa.Table.from_batches(batches, reader.schema)
    return _validated(table, path, "Arrow")


def _from_json(path: Path) -> pa.Table:
    from matcheval.predictions.json_tables import read_json_table

    return read_json_table(
        path,
        is_lines=not suffix_of(path).startswith(".json") or suffix_of(path).startswith(".jsonl"),
    )


def _from_xlsx(path: Path) -> pa.Table:
    import zipfile

    import pandas as pd

    array_files.imported("openpyxl", "formats", path)
    with readable(path, "a readable .xlsx file", zipfile.BadZipFile):
        with zipfile.ZipFile(path) as archive:
            check_unpacked(path.stat().st_size, sum(m.file_size for m in archive.infolist()), path)
        try:
            sheets = pd.read_excel(
                path, sheet_name=None, engine="openpyxl", keep_default_na=False, na_values=[""]
            )  # NA and None may be classes
        except Exception as error:  # what openpyxl raises of a damaged sheet is of any type
            raise InputError(f"not a readable .xlsx file ({error!r:.200})", file=path) from error
    filled = {name: sheet for name, sheet in sheets.items() if len(sheet)}
    if len(filled) != 1:
        raise InputError(
            f"has {len(filled)} sheets with rows: {', '.join(filled) or 'none'}", file=path,
            remedy="Save the one with the predictions alone, or as CSV",
        )  # fmt: skip
    (sheet,) = filled.values()
    sheet.columns = [str(name) for name in sheet.columns]
    with readable(path, "a table of plain columns", pa.ArrowException, TypeError):
        return pa.Table.from_pandas(sheet, preserve_index=False)


def as_list(column: Column) -> list[Any]:
    """Return the values of a column as objects of Python."""
    return column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()


def texts_of(column: Column) -> npt.NDArray[Any] | None:
    """Return a column of texts as objects; None if it holds anything else."""
    if isinstance(column, np.ndarray):
        return column.astype(object) if column.dtype.kind == "U" and column.ndim == 1 else None
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    return np.array(column.cast(pa.large_string()).to_pylist(), object)


_TEXT = (".csv", ".tsv", ".txt", ".psv")
_READERS: Mapping[str, Callable[[Path], pa.Table]] = {
    ".parquet": _from_parquet,
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), _from_json),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), _from_arrow),
    ".xlsx": _from_xlsx,
}


def plain_values(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[Any]:
    """Return the values of a column without nulls, to be read only."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        # Not by `to_numpy`, which imports pandas.
        whole = column if isinstance(column, pa.Array) else column.combine_chunks()
        return np.from_dlpack(whole)
    return np.asarray(column)
