"""Opening prediction files of any format, and tables in memory, as columns of unchecked values."""

import glob
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.delimited_text import check_has_header, read_delimited
from matcheval.io.files import BROKEN, check_is_file, check_unpacked, open_text, readable
from matcheval.io.tables import read_parquet
from matcheval.names import COMPRESSED, MODEL, NAMED_SUFFIXES, PREDICTION_SUFFIXES
from matcheval.predictions import array_files
from matcheval.predictions.array_files import Arrays
from matcheval.predictions.column_names import ACCURACIES, is_known_column, snake_case

Form = Literal["matrix", "float", "whole", "text", "other"]


@dataclass(frozen=True, eq=False)
class Column:
    """The unchecked values of a column or array."""

    values: npt.NDArray[Any]  # NaN, or None among texts (objects), where a cell is empty
    form: Form
    type: str  # for messages


@dataclass(frozen=True, eq=False)
class InMemory:
    """A table or arrays in memory, and the name by which messages call it."""

    name: str
    data: pa.Table | Arrays

    def __str__(self) -> str:
        """Return the name."""
        return self.name


Source: TypeAlias = str | os.PathLike[str] | InMemory


@dataclass(frozen=True, eq=False)
class Loaded:
    """An opened file: names of its columns or arrays, and a function that reads some of them."""

    file: object
    names: Sequence[str]
    read: Callable[[Sequence[str]], Mapping[str, Column]]
    metadata: Mapping[str, str] = field(default_factory=dict)
    is_arrays: bool = False
    notes: Sequence[str] = ()  # how a text file is written, where that is not the usual way


def load(source: Source) -> Loaded:
    """Open a prediction file of any format, or a table or arrays in memory."""
    if isinstance(source, InMemory):
        if isinstance(source.data, pa.Table):
            return _load_table(source.data, source)
        arrays = source.data
        return _load_arrays(list(arrays), lambda _: arrays, source)
    path = Path(source)
    check_is_file(path)
    suffix = suffix_of(path)
    if suffix in array_files.READERS:
        names, read = array_files.READERS[suffix](path)
        return _load_arrays(names, read, path)
    for packed in COMPRESSED:
        suffix = suffix.removesuffix(packed)
    if suffix in _TEXT:
        table, notes = read_delimited(path)
        check_has_header(table, path)
        return _load_table(table, path, notes)
    if suffix not in _READERS:
        known = ", ".join((*(s for s in PREDICTION_SUFFIXES if s.count(".") == 1), *NAMED_SUFFIXES))
        raise InputError(
            f"unknown format of prediction file '{suffix}'", file=path,
            remedy=f"Use {known}; text may be compressed ({', '.join(COMPRESSED)})",
        )  # fmt: skip
    return _load_table(_READERS[suffix](path), path)


def read_lists(source: Source, names: Sequence[str]) -> dict[str, list[Any]]:
    """Read those of the named columns that a file has, regardless of case, as lists."""
    loaded, lists = load(source), {}
    theirs = {name.casefold().strip(): name for name in reversed(loaded.names)}
    for name in [name for name in names if name in theirs]:
        values = loaded.read([theirs[name]])[theirs[name]].values
        if values.ndim != 1:
            raise InputError(f"has shape {values.shape}, not (n,)", file=source, field=name)
        lists[name] = values.tolist()
    return lists


def _load_table(table: pa.Table, file: object, notes: Sequence[str] = ()) -> Loaded:
    names = table.schema.names
    metadata = {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in (table.schema.metadata or {}).items()
        if key not in (b"pandas", b"huggingface", b"ARROW:schema")  # which are no provenance
    }
    position = {name: at for at, name in reversed(list(enumerate(names)))}

    def read(wanted: Sequence[str]) -> Mapping[str, Column]:
        return {name: _convert_arrow(table.column(position[name])) for name in wanted}

    return Loaded(file, names, read, metadata, notes=notes)


def _load_arrays(names: list[str], read: Callable[[list[str]], Arrays], file: object) -> Loaded:
    def read_some(wanted: Sequence[str]) -> Mapping[str, Column]:
        arrays = read(list(wanted))
        return {name: _convert_numpy(arrays[name], name, file) for name in wanted}

    return Loaded(file, names, read_some, is_arrays=True)


def _read_parquet(path: Path) -> pa.Table:
    return _validate(read_parquet(path), path, "Parquet")


def _validate(table: pa.Table, path: Path, kind: str) -> pa.Table:
    try:
        _ = table.schema.names
        table.validate(full=True)  # texts that are not UTF-8, positions beyond a dictionary
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"a damaged {kind} file ({error})", file=path) from error
    return table


def _read_arrow(path: Path) -> pa.Table:
    """Read Feather and Arrow files or streams, such as those of Hugging Face's datasets."""
    with readable(path, "a readable Arrow file", pa.ArrowException), pa.OSFile(str(path)) as file:
        is_stream = file.read(6) != b"ARROW1"
        file.seek(0)
        reader = pa.ipc.open_stream(file) if is_stream else pa.ipc.open_file(file)
        every = reader if is_stream else map(reader.get_batch, range(reader.num_record_batches))
        batches, unpacked = [], 0
        for batch in every:
            unpacked += batch.nbytes
            check_unpacked(path.stat().st_size, unpacked, path)
            batches.append(batch)
        table = pa.Table.from_batches(batches, reader.schema)
    return _validate(table, path, "Arrow")


def _read_xlsx(path: Path) -> pa.Table:
    import zipfile

    import pandas as pd

    array_files.import_optional("openpyxl", "formats", path)
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


# --- JSON: records or columns, as of pandas, Weights & Biases, FiftyOne, pipelines, and others

_Lists = dict[str, list[Any]]


def _read_json(path: Path) -> pa.Table:
    with readable(path, "a readable file", *BROKEN), open_text(path) as stream:
        content = stream.read()
        is_utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = content.decode("utf-16" if is_utf16 else "utf-8-sig")
    columns = _split_rankings(_json_columns(_parse_json(text, path), path), path)
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = pa.array(values)
        except (pa.ArrowException, OverflowError, TypeError) as error:
            if not is_known_column(name):
                continue  # such as a model's prompt, which nothing here reads
            reason = str(error).splitlines()[0]
            problem = f"holds values of several types, or none of a table ({reason:.200})"
            raise InputError(problem, file=path, field=name) from error
    return pa.table(arrays)


def _parse_json(text: str, path: Path) -> Any:
    """Parse JSON or JSON Lines; a file that ends in `.json` may hold either."""
    if suffix_of(path).split(".")[1] == "json":
        with readable(path, "readable as JSON"):
            try:
                return json.loads(text)
            except json.JSONDecodeError as error:
                if error.msg != "Extra data":
                    raise
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            with readable(f"{path}, line {number}", "readable as JSON"):
                lines.append(json.loads(line))
    return lines[0] if len(lines) == 1 and isinstance(lines[0], list) else lines


def _json_columns(parsed: Any, path: Path) -> _Lists:
    """Convert parsed JSON of any known form to columns: records, rankings, lists or mappings."""
    if isinstance(parsed, list):
        return _from_records(parsed, path)
    if not isinstance(parsed, Mapping):
        raise InputError("holds neither records nor columns", file=path)
    names, rows = parsed.get("columns"), parsed.get("data")
    if isinstance(names, list) and isinstance(rows, list):  # pandas, `split`; Weights & Biases
        if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
            problem = f"has rows of other lengths than its {len(names)} columns"
            raise InputError(problem, file=path, field="data")
        if len({*map(str, names)}) < len(names):
            raise InputError("names a column twice", file=path, field="columns")
        return _flatten({str(name): [row[at] for row in rows] for at, name in enumerate(names)})
    lists = [values for values in parsed.values() if isinstance(values, list)]
    if len(lists) == 1 and lists[0] and all(isinstance(row, Mapping) for row in lists[0]):
        return _from_records(lists[0], path)  # {"samples": [...]} of FiftyOne, {"data": } of pandas
    if len(parsed) > 1 and all(isinstance(values, Mapping) for values in parsed.values()):
        records = list(parsed.values())
        are_alike = all(row.keys() == records[0].keys() for row in records)
        if are_alike and not any(map(is_known_column, parsed)):  # pandas, `index`
            return {"key": list(parsed), **_from_records(records, path)}
    return _from_mapping(parsed, path)


def _from_records(records: Sequence[Any], path: Path) -> _Lists:
    if records and all(map(_is_ranking, records)):  # of pipelines of Hugging Face
        return {"scores": list(records)}
    for number, record in enumerate(records, 1):
        if not isinstance(record, Mapping):
            raise InputError(
                f"entry {number} is not a record, but {type(record).__name__}", file=path,
                remedy="Write records such as {\"label\": 0, \"prediction\": 0, \"probability\": "
                "0.9}",
            )  # fmt: skip
    names = dict.fromkeys(name for record in records for name in record)
    return _flatten({name: [record.get(name) for record in records] for name in names})


def _flatten(columns: _Lists, depth: int = 0) -> _Lists:
    """Split records in a column, such as `ground_truth: {label: ...}`, into columns."""
    flat: _Lists = {}
    for name, values in columns.items():
        records = [value for value in values if value is not None]
        if not records or depth > 2 or not all(isinstance(value, Mapping) for value in records):
            flat[name] = values
            continue
        parts = {
            f"{name}.{key}": [None if value is None else value.get(key) for value in values]
            for key in dict.fromkeys(key for record in records for key in record)
        }
        flat |= _flatten(parts, depth + 1)
    return flat


def _from_mapping(columns: Mapping[str, Any], path: Path) -> _Lists:
    """Convert a mapping of columns, each a list or a mapping by row, and check their lengths."""
    rows = next((list(values) for values in columns.values() if isinstance(values, Mapping)), None)
    lists = {}
    for name, values in columns.items():
        if isinstance(values, Mapping) and list(values) == rows:
            lists[name] = list(values.values())
        elif isinstance(values, list) and rows is None:
            lists[name] = values
        elif isinstance(values, list | Mapping):
            raise InputError("has other rows than the other columns", file=path, field=name)
    lengths = {name: len(values) for name, values in lists.items()}
    if len({*lengths.values()}) != 1:
        raise InputError(f"holds no columns of equal lengths; found {lengths}", file=path)
    return lists


def _is_ranking(value: Any) -> bool:
    """Whether a value is a non-empty list of records with `label` and `score`."""
    return bool(value) and isinstance(value, list) and all(
        isinstance(record, Mapping) and {"label", "score"} <= record.keys() for record in value
    )  # fmt: skip


def _split_rankings(columns: _Lists, path: Path) -> _Lists:
    """Replace a column of records of `label` and `score` by one per class, or by the best class."""
    name = next((name for name, values in columns.items() if any(map(_is_ranking, values))), None)
    if name is None:
        return columns
    rows = [_scores_by_class(ranking, row, path) for row, ranking in enumerate(columns[name])]
    others = {key: values for key, values in columns.items() if key != name}
    if all(row.keys() == rows[0].keys() for row in rows):
        return others | {f"prob_{label}": [row[label] for row in rows] for label in rows[0]}
    best = [max(row, key=row.__getitem__) for row in rows]  # of the most probable classes only
    highest = [row[label] for row, label in zip(rows, best, strict=True)]
    return {"prediction": best, "probability": highest, **others}


def _scores_by_class(ranking: Any, row: int, path: Path) -> dict[str, float]:
    pairs = (
        [(record["label"], record["score"]) for record in ranking] if _is_ranking(ranking) else []
    )
    scores = {
        label: float(score)
        for label, score in pairs
        if isinstance(label, str) and isinstance(score, int | float) and abs(score) < 1e300
    }
    if not scores or len(scores) < len(pairs):
        raise InputError(
            f"row {row} (from 0): no scores of different classes, but {ranking!r:.100}", file=path,
            remedy="Give records of 'label' and 'score', or a list of probabilities",
        )  # fmt: skip
    return scores


_TEXT = (".csv", ".tsv", ".txt", ".psv")
_READERS: Mapping[str, Callable[[Path], pa.Table]] = {
    ".parquet": _read_parquet,
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), _read_json),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), _read_arrow),
    ".xlsx": _read_xlsx,
}


# --- values of columns


def _convert_arrow(column: pa.ChunkedArray) -> Column:
    """Convert an Arrow column to NumPy values."""
    name = {"double": "float64"}.get(str(column.type), str(column.type))
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    kind = column.type
    if str(kind) in ("string", "large_string", "string_view"):
        return Column(_to_objects(column), "text", "text")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return Column(_to_numbers(column), "float" if pa.types.is_floating(kind) else "whole", name)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        lists = column.combine_chunks()
        lengths = set(lists.value_lengths().to_pylist())
        inner = lists.flatten()
        if len(lengths) == 1 and None not in lengths and not pa.types.is_nested(inner.type):
            values = _convert_arrow(pa.chunked_array([inner])).values
            return Column(values.reshape(len(lists), -1), "matrix", name)
    values = _to_objects(column)
    is_bool = pa.types.is_boolean(kind) and not column.null_count
    return Column(values.astype(np.bool_) if is_bool else values, "other", name)


def _to_numbers(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    if column.null_count:
        return np.array(column.to_pylist(), np.float64)
    return np.from_dlpack(column.combine_chunks())  # `to_numpy` would import pandas


def _to_objects(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    values = np.empty(len(column), object)
    values[:] = column.to_pylist()
    return values


def _convert_numpy(array: npt.NDArray[Any], name: str, file: object) -> Column:
    """Convert an array; decode bytes to text, refuse single values other than accuracies."""
    if array.ndim == 0 and snake_case(name) not in ACCURACIES:
        raise InputError("is a single value, not an array", file=file, field=name)
    if array.dtype.kind == "S":
        with readable(str(file), "text in UTF-8"):
            array = np.char.decode(array, "utf-8")
    shape = f" {'×'.join(map(str, array.shape))}" if array.ndim > 1 else ""
    form: Form = "matrix" if array.ndim > 1 else _FORMS.get(array.dtype.kind, "other")
    if array.dtype.kind == "U":
        return Column(array.astype(object), form, f"text{shape}")
    return Column(np.atleast_1d(array), form, f"{array.dtype}{shape}")


_FORMS: Mapping[str, Form] = {"f": "float", "i": "whole", "u": "whole", "U": "text"}


# --- names of files


def suffix_of(path: Path) -> str:
    """Return the suffix that tells a file's format, lower-case, with compression: `.csv.gz`."""
    *_, before, last = ["", "", *path.suffixes]
    return (before + last if last.lower() in COMPRESSED else last).lower()


def stem_of(path: Path) -> str:
    """Return a file's name without the suffix of `suffix_of`."""
    return path.name[: len(path.name) - len(suffix_of(path))]


def files_by_model(pattern: str) -> dict[str, Path]:
    """Find the files that match a pattern with `{model}`; return them by the name of the model."""
    if pattern.count(MODEL) != 1:
        remedy = "Write it where the names of the files differ: 'old/{model}.parquet'"
        raise InputError(f"must hold {MODEL} once", file=pattern, remedy=remedy)
    before, after = pattern.split(MODEL)
    name = re.compile(re.escape(before) + "([^/]+)" + re.escape(after), re.DOTALL)
    # `{model}` may stand for a folder, which `Path.glob` has no pattern for.
    paths = glob.glob(glob.escape(before) + "*" + glob.escape(after))  # noqa: PTH207
    matches = ((name.fullmatch(path), path) for path in sorted(paths))
    return {match[1]: Path(path) for match, path in matches if match}


def set_names(original: str, replication: str) -> tuple[str, str] | None:
    """Name two sets by the last part in which their file patterns differ; None if none does."""
    parts = [
        [_without_model(part) for part in reversed(Path(pattern).parts)]
        for pattern in (original, replication)
    ]
    pairs = zip(*parts, strict=False)
    return next(((a, b) for a, b in pairs if a and b and a != b), None)


def _without_model(part: str) -> str:
    """Return a part of a file pattern without `{model}`, suffix and repeated separators."""
    path = Path(part)
    is_file = MODEL in part or suffix_of(path) in PREDICTION_SUFFIXES
    name = (stem_of(path) if is_file else part).replace(MODEL, "")
    return re.sub(r"([-_. ])[-_. ]+", r"\1", name).strip("-_. /")
