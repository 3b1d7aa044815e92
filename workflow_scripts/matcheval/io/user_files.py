"""The user's CSV files, read as rows of text or as columns, and YAML files."""

import csv
import io
import os
import warnings
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from matcheval.errors import InputError
from matcheval.io.delimited_text import unescape_formula
from matcheval.io.files import BROKEN, open_text, readable

if TYPE_CHECKING:
    import pandas as pd

_MAX_CHARACTERS = 10_000_000  # of a YAML file; those of the studies here have up to 6,329
_ENCODING = "Save it as UTF-8; spreadsheets often save Latin-1"


def read_numbered_rows(
    path: str | Path, what: str = "file"
) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return a CSV file's column names, and its rows, each with the number of its last line."""
    with readable(path, "readable as CSV", csv.Error, missing=f"no such {what}"):
        text = io.StringIO(decode_utf8(Path(path).read_bytes(), path), newline="")
        reader = csv.DictReader(text, strict=True)
        rows = [
            (
                reader.line_num,
                {k: unescape_formula(v) if isinstance(v, str) else v for k, v in row.items()},
            )
            for row in reader
        ]
        return list(reader.fieldnames or ()), rows


def decode_utf8(content: bytes, path: str | Path) -> str:
    """Decode UTF-8 text, with or without a byte order mark; errors name the line."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = f"line {line} is not UTF-8 (byte 0x{content[error.start]:02x})"
        raise InputError(problem, file=path, remedy=_ENCODING) from error


def read_csv_rows(path: str | Path, required: Sequence[str]) -> list[dict[str, str]]:
    """Read the rows of a CSV file that must have the required columns; missing cells are ""."""
    header, numbered = read_numbered_rows(path)
    check_columns(header, required, path)
    return [{k: "" if v is None else v for k, v in row.items()} for _, row in numbered]


def read_columns(
    path: str | Path, integers: Sequence[str], texts: Sequence[str] = (), *,
    can_be_empty: bool = False,
) -> "pd.DataFrame":  # fmt: skip
    """Read columns of whole numbers and of texts from a Parquet or CSV file, perhaps compressed."""
    import pandas as pd

    if str(path).endswith(".parquet"):
        from matcheval.io.tables import read_parquet  # which commands need not wait for

        table: pd.DataFrame = read_parquet(path).to_pandas()
    else:
        with (
            readable(path, "readable as CSV", *BROKEN), open_text(Path(path)) as stream,
            warnings.catch_warnings(),
        ):  # fmt: skip
            # Rows with more cells than the header, such as a remark, must not turn their first cell
            # into an index; pandas leaves the last ones out, with a warning of no use to the user.
            warnings.simplefilter("ignore", pd.errors.ParserWarning)
            table = pd.read_csv(stream, index_col=False, dtype=dict.fromkeys(texts, str))
    check_columns([*map(str, table)], [*texts, *integers], path)
    for name in integers:
        if table[name].dtype.kind not in "iu" and not (can_be_empty and table.empty):
            raise InputError("must be a whole number in every row", file=path, field=name)
    return table[[*texts, *integers]]


def check_header(path: str | Path, required: Sequence[str]) -> None:
    """Check that a CSV file has the required columns, by its first line only."""
    with readable(path, "a readable file"), Path(path).open("rb") as file:
        first = file.readline()
    check_columns(next(csv.reader([decode_utf8(first, path)]), []), required, path)


def check_columns(
    header: Sequence[str], required: Sequence[str], path: object, remedy: str = ""
) -> None:
    """Refuse a header that lacks a required column."""
    missing = [column for column in required if column not in header]
    if missing:
        problem = f"no column {' and '.join(missing)} in the header {list(header)}"
        raise InputError(problem, file=path, remedy=remedy)


def read_yaml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a YAML file whose top level is a mapping."""
    content = _read_yaml_document(path)
    if not isinstance(content, dict):
        raise InputError("is not a mapping of keys to values", file=path)
    return content


def read_yaml_list(path: str | os.PathLike[str]) -> list[Any]:
    """Read a YAML file whose top level is a list."""
    content = _read_yaml_document(path)
    if not isinstance(content, list):
        raise InputError("is not a list", file=path, remedy="Begin every entry with '- '")
    return content


class _RepeatedKeyError(yaml.MarkedYAMLError):  # type: ignore[misc]  # yaml has no types
    """Raised for a mapping that has a key twice."""


def _expanded_length(node: yaml.Node, lengths: dict[int, int]) -> int:
    """Count the characters of a YAML node, with what its aliases refer to in their places."""
    if id(node) not in lengths:
        lengths[id(node)] = _MAX_CHARACTERS + 1  # of one that holds itself
        parts = node.value if isinstance(node, yaml.CollectionNode) else ()
        inner = chain(*parts) if isinstance(node, yaml.MappingNode) else parts
        length = 0 if isinstance(node, yaml.CollectionNode) else len(node.value)
        lengths[id(node)] = 1 + length + sum(_expanded_length(part, lengths) for part in inner)
    return lengths[id(node)]


class _UniqueKeysLoader(yaml.SafeLoader):  # type: ignore[misc]  # yaml has no types
    """YAML loader that refuses a mapping with a key twice, of which others keep the second."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        """Refuse repeated keys as written, before `<<` merges those of other mappings."""
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if (key.tag, key.value) in seen:  # `1` and `"1"` are two keys
                    raise _RepeatedKeyError(None, None, f"key '{key.value}'", key.start_mark)
                seen.add((key.tag, key.value))
        return node


def _read_yaml_document(path: str | os.PathLike[str]) -> Any:
    with readable(path, "readable as YAML", yaml.YAMLError):
        # A ValueError is of text that is not UTF-8, or of an impossible date or number.
        try:
            loader = _UniqueKeysLoader(Path(path).read_text(encoding="utf-8"))
            node = loader.get_single_node()
            # Few lines of aliases of aliases could fill the memory.
            if node is not None and _expanded_length(node, {}) > _MAX_CHARACTERS:
                problem = f"has over {_MAX_CHARACTERS:,} characters, with what its aliases repeat"
                raise InputError(problem, file=path, remedy="Use fewer aliases (*name)")
            return None if node is None else loader.construct_document(node)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = f"{path}, line {mark.line + 1}, column {mark.column + 1}" if mark else path
            if isinstance(error, _RepeatedKeyError):
                problem, remedy = f"{error.problem} is there twice", "Keep one of the two"
                raise InputError(problem, file=place, remedy=remedy) from error
            what = ", ".join(filter(None, (error.context, error.problem)))
            remedy = "Indent with spaces; write texts with ': ' or '#' in quotes"
            raise InputError(f"not readable as YAML ({what})", file=place, remedy=remedy) from error
