"""Tables with declared schemas: names, types and units of columns, checked before writing."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.delimited_text import escape_formulas
from matcheval.io.files import atomic_file, check_format, check_unpacked, readable, write_text
from matcheval.io.self_digests import DAMAGED, DIGEST_KEY, EMPTY_DIGEST, enter_digest, verify_file
from matcheval.io.text_tables import TextColumn, format_row, latex, lay_out, level_text, markdown

# Parts of PyArrow are imported by what needs them: text files are read without.
if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.parquet as pq

_VALUE_BYTES = 8  # of most values in memory
_NONE_SHOWN: Mapping[str, str] = {}


@dataclass(frozen=True)
class Column:
    """Declaration of a table's column: its name, type, unit and meaning."""

    name: str
    type: pa.DataType
    unit: str  # empty for text
    meaning: str  # `{level}` stands for the level of intervals
    nullable: bool = False
    label: Callable[[Any], Any] | None = None  # names values for readers, in text tables

    def meaning_at(self, level: float = 0.95) -> str:
        """Return the column's meaning, with `{level}` replaced by the level of its intervals."""
        return self.meaning.replace("{level}", level_text(level))


class TableSchema:
    """Declaration of a table: how its files are checked and written, and its text tables laid out.

    `name` is for messages. `shown` has the columns of its text table: by heading, how the values of
    a row are shown (`text_tables.lay_out`). Headings may hold values of the first row, and
    `{level}`, that of its intervals. A function lays out a table whose columns depend on its rows.
    `summary` makes the rows of the text table from those of the table, where they differ.
    """

    def __init__(
        self, name: str, *columns: Column,
        shown: "Mapping[str, str] | Callable[[pd.DataFrame], list[TextColumn]]" = _NONE_SHOWN,
        summary: "Callable[[pd.DataFrame], pd.DataFrame] | None" = None,
    ) -> None:  # fmt: skip
        self.name, self.columns, self.level = name, columns, 0.95
        self.shown, self.summary = shown, summary

    @property
    def names(self) -> list[str]:
        """Names of the columns, in the order of the table."""
        return [column.name for column in self.columns]

    @property
    def arrow(self) -> pa.Schema:
        """The Arrow schema, with unit and meaning in each field's metadata."""
        metadata = ({"unit": c.unit, "meaning": c.meaning_at(self.level)} for c in self.columns)
        return pa.schema(
            pa.field(c.name, c.type, nullable=c.nullable, metadata=of_column)
            for c, of_column in zip(self.columns, metadata, strict=True)
        )

    def at_level(self, level: float) -> "TableSchema":
        """Return a copy of this schema for intervals of another level."""
        changed = copy(self)
        changed.level = level
        return changed

    def table(
        self, columns: Mapping[str, Any], metadata: Mapping[str, str] | None = None
    ) -> pa.Table:
        """Build a table from a sequence per column, and check it; `metadata` is its provenance."""
        wrong = set(self.names) ^ set(columns)
        if wrong:
            raise InputError(f"columns {sorted(wrong)} are missing or not declared", file=self.name)
        try:
            arrays = [
                pa.array(columns[c.name], type=c.type, from_pandas=False) for c in self.columns
            ]
            table = pa.Table.from_arrays(arrays, schema=self.arrow)
            table.validate(full=True)
        except (pa.ArrowException, TypeError) as error:
            raise InputError(f"does not match its schema ({error})", file=self.name) from error
        nulls = [c.name for c in self.columns if table[c.name].null_count and not c.nullable]
        if nulls:
            raise InputError(f"columns {nulls} contain nulls", file=self.name)
        return table.replace_schema_metadata(dict(metadata)) if metadata else table

    def from_records(self, records: Sequence[Any]) -> pa.Table:
        """Build a table with one row per object; columns are attributes of the same name."""
        return self.table({n: [getattr(record, n) for record in records] for n in self.names})

    def from_frame(self, frame: "pd.DataFrame") -> pa.Table:
        """Build a table from a data frame."""
        return self.table({name: frame[name].to_list() for name in frame.columns})

    def text_columns(self, table: "pd.DataFrame") -> list[TextColumn]:
        """Lay out a data frame of this schema as a table for readers."""
        if callable(self.shown):
            return self.shown(table)
        rows = self.summary(table) if self.summary else table
        labels = {c.name: c.label for c in self.columns if c.label and c.name in rows}
        rows = rows.assign(**{name: rows[name].map(label) for name, label in labels.items()})
        first = next(iter(rows.head(1).to_dict("records")), {})
        first["level"] = level_text(first.get("confidence", self.level))
        heads = [format_row(head, first) for head in self.shown]
        return lay_out(rows, dict(zip(heads, self.shown.values(), strict=True)))

    def write(
        self,
        table: "pd.DataFrame",
        paths: Iterable[str | os.PathLike[str]],
        notes: Sequence[str] = (),
        page: str = "",
        shown: "Callable[[pd.DataFrame], list[TextColumn]] | None" = None,
    ) -> None:
        """Write a table as Parquet, CSV, Markdown or LaTeX, by the suffixes of the paths.

        `notes` are sentences below the text tables; `page` is what the Markdown file holds, if it
        is more than the table; `shown` lays out the text tables in place of the schema's.
        """
        texts = {".md": (markdown, "\n{}\n"), ".tex": (latex, "% {}\n")}
        for path in paths:
            suffix = Path(path).suffix.lower()
            if suffix not in texts:
                write_table(self.from_frame(table), path)
                continue
            layout, note = texts[suffix]
            columns = shown or self.text_columns
            text = page if page and suffix == ".md" else layout(columns(table))
            write_text(path, text + "".join(map(note.format, notes)))

    def read(self, path: str | os.PathLike[str]) -> pa.Table:
        """Read a Parquet file, and check that its columns are those of this schema."""
        table = read_parquet(path)
        self.check(table, path)
        return table

    def check(self, table: pa.Table, path: str | os.PathLike[str]) -> None:
        """Refuse a table, read from `path`, whose columns differ from this schema's."""
        if table.schema.names != self.names or table.schema.types != self.arrow.types:
            raise InputError(
                f"columns {table.schema.names} are not those of {self.name}",
                file=path,
                remedy="It was written by another version: delete it and run again",
            )


def read_parquet(path: str | os.PathLike[str]) -> pa.Table:
    """Read a Parquet file; verify the SHA-256 that it contains, if it does."""
    import pyarrow.parquet as pq

    what = "a readable Parquet file, perhaps truncated"
    with readable(path, what, pa.ArrowException, remedy=DAMAGED):
        verify_file(path)
        # One thread: the files are small, and the workers already occupy every core.
        with pq.ParquetFile(path) as file:
            if DIGEST_KEY.encode() not in (file.metadata.metadata or {}):  # others wrote it
                groups = map(file.metadata.row_group, range(file.num_row_groups))
                counts = (
                    group.column(j).num_values for group in groups for j in range(group.num_columns)
                )
                check_unpacked(Path(path).stat().st_size, _VALUE_BYTES * sum(counts), path)
            table = file.read(use_threads=False)
    metadata = dict(table.schema.metadata or {})
    if metadata.pop(DIGEST_KEY.encode(), None) is None:
        return table
    return table.replace_schema_metadata(metadata or None)  # its digest is not that of a copy


def check_suffix(path: str | os.PathLike[str]) -> str:
    """Return a file's suffix in lower case; refuse it unless it is `.parquet` or `.csv`."""
    return check_format(path, (".parquet", ".csv"), "cannot write {} tables")


def write_table(table: pa.Table, *paths: str | os.PathLike[str]) -> None:
    """Write a table atomically as Parquet or CSV, depending on the suffix of each path."""
    for path in paths:
        if check_suffix(path) == ".csv":
            import pyarrow.csv as pa_csv

            with atomic_file(path) as partial:
                pa_csv.write_csv(escape_formulas(table), partial)
        else:
            with parquet_file(path, table.schema) as writer:
                writer.write_table(table)


@contextmanager
def parquet_file(path: str | os.PathLike[str], schema: pa.Schema) -> "Iterator[pq.ParquetWriter]":
    """Yield a writer of a Parquet file: atomic, with page checksums and its own SHA-256."""
    import pyarrow.parquet as pq

    with atomic_file(path) as partial:
        with pq.ParquetWriter(
            partial, schema, compression="zstd", write_page_checksum=True
        ) as writer:
            yield writer
            writer.add_key_value_metadata({DIGEST_KEY: EMPTY_DIGEST})
        enter_digest(partial)


def fraction(name: str, meaning: str) -> Column:
    """Declare a column of fractions, such as accuracies or probabilities."""
    return Column(name, pa.float64(), "fraction", meaning)


def text(name: str, meaning: str, label: Callable[[Any], Any] | None = None) -> Column:
    """Declare a column of texts."""
    return Column(name, pa.string(), "", meaning, label=label)


def estimate(name: str, meaning: str) -> tuple[Column, Column, Column]:
    """Declare a column of fractions, and one for each bound of its interval."""
    return fraction(name, meaning), *interval(name)


def interval(name: str) -> tuple[Column, Column]:
    """Declare the columns of the bounds of the interval of a column `name`."""
    return (
        fraction(f"{name}_low", "lower bound of its {level} interval"),
        fraction(f"{name}_high", "upper bound of its {level} interval"),
    )


MODEL = text("model", "name of the model")
DATASET = text("dataset", "name of the dataset")
TOP_K = Column(
    "top", pa.int16(), "classes", "k: correct if the label is among the k top-ranked classes"
)
PAIR = (
    text("pair", "name of the pair of sets"),
    TOP_K,
    text("original", "the original set"),
    text("replication", "the replication set"),
)
SEVERITY = Column(
    "severity", pa.float64(), "1", "severity of the shift; NaN if not said",
    label=lambda severity: "" if severity != severity else f"{severity:g}",
)  # fmt: skip
CONFIDENCE_LEVEL = Column("confidence", pa.float64(), "fraction", "level of the intervals")


def accuracy(part: str, of: str) -> tuple[Column, ...]:
    """Declare the columns of `accuracy_columns` for a part: counts, accuracy, its bounds."""
    end = f"_{part}" if part else ""
    return (
        Column(f"n{end}", pa.int64(), "datapoints", of),
        Column(f"n_correct{end}", pa.int64(), "datapoints", "correctly predicted; -1 if unknown"),
        fraction(f"accuracy{end}", "share of correct predictions; NaN without a datapoint"),
        fraction(f"accuracy{end}_low", "Clopper-Pearson lower bound; NaN if n is unknown"),
        fraction(f"accuracy{end}_high", "Clopper-Pearson upper bound; NaN if n is unknown"),
    )
