"""The page of all tables and their columns, from the schemas that the library declares."""

import importlib.util
import pkgutil
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pyarrow as pa

import matcheval
from matcheval.io.tables import TableSchema

HEAD = """# Columns of all tables

Every table that a study writes has declared columns. Here they are, with type, unit and meaning,
by the folder of the library that declares them; `make settings` writes this page. Parquet files
hold unit and meaning of each column in its metadata:
`pyarrow.parquet.read_schema(file).field(column).metadata`. Fractions are between 0 and 1; figures
and text show them in percent. Files of a study of another `confidence` than 0.95 name its level.
"""
TYPES = {"string": "text", "float": "number", "double": "number", "bool": "true or false"}


def find_schemas() -> Iterator[tuple[str, TableSchema]]:
    """Yield all declared tables in order, each with the name of the folder that declares it."""
    folder = Path(matcheval.__file__).parent
    seen = set()
    for module in sorted(m.name for m in pkgutil.walk_packages([str(folder)], "matcheval.")):
        declared = str(importlib.util.find_spec(module).origin)
        if "TableSchema(" not in Path(declared).read_text(encoding="utf-8"):
            continue
        values = vars(importlib.import_module(module)).values()
        nested = [item for value in values if isinstance(value, dict) for item in value.values()]
        for value in [*values, *nested]:
            if isinstance(value, TableSchema) and id(value) not in seen:
                seen.add(id(value))
                parts = module.split(".")[1:]
                yield "/".join(parts if parts[0] == "analyses" else parts[:1]), value


def columns_table(schema: TableSchema) -> str:
    """Return the columns of a table, with type, unit and meaning, as a Markdown table."""
    rows = "".join(
        f"| `{c.name}` | {type_in_words(c.type)} | {c.unit} | {meaning} |\n"
        for c in schema.columns
        for meaning in [c.meaning_at().replace("|", r"\|")]
    )
    return f"| column | type | unit | meaning |\n| --- | --- | --- | --- |\n{rows}"


def type_in_words(column: pa.DataType) -> str:
    """Return a column's type in plain words."""
    if pa.types.is_list(column) or pa.types.is_fixed_size_list(column):
        return f"list of {type_in_words(column.value_type)}s"
    return "whole number" if pa.types.is_integer(column) else TYPES.get(str(column), str(column))


def page() -> str:
    """Return the whole page in Markdown."""
    parts = [HEAD]
    for folder, tables in groupby(find_schemas(), key=lambda found: found[0]):
        parts.append(f"\n## {folder}\n")
        for _, schema in tables:
            parts.append(
                f"\n### {schema.name[0].upper()}{schema.name[1:]}\n\n{columns_table(schema)}"
            )
    return "".join(parts)
