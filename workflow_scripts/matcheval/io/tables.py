"""Tables with a declared schema: what each column is, in which unit, checked before writing."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from matcheval.errors import InputError
from matcheval.io.files import whole_file

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Column:
    """One column: its name, Arrow type, unit and meaning, and whether a row may lack it."""

    name: str
    type: pa.DataType
    unit: str
    meaning: str
    nullable: bool = False


@dataclass(frozen=True)
class TableSchema:
    """The declared columns of a kind of table, in order."""

    name: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return [column.name for column in self.columns]

    @property
    def arrow(self) -> pa.Schema:
        """The Arrow schema, with unit and meaning in each field's metadata."""
        return pa.schema(
            pa.field(
                c.name, c.type, nullable=c.nullable, metadata={"unit": c.unit, "meaning": c.meaning}
            )
            for c in self.columns
        )

    def table(
        self, columns: Mapping[str, Any], metadata: Mapping[str, str] | None = None
    ) -> pa.Table:
        """Build a table of this schema.

        Parameters
        ----------
        columns : mapping
            One sequence per declared column, equally long, nulls where the column may have them.
        metadata : mapping, optional
            Key-value text kept in the file's footer (provenance).

        Raises
        ------
        InputError
            If columns are missing, unknown, of the wrong type or of unequal lengths.
        """
        wrong = set(self.names) ^ set(columns)
        if wrong:
            raise InputError(
                f"columns {sorted(wrong)} are not both given and declared", file=self.name
            )
        try:
            arrays = [
                pa.array(columns[c.name], type=c.type, from_pandas=False) for c in self.columns
            ]
            table = pa.Table.from_arrays(arrays, schema=self.arrow)
            table.validate(full=True)
        except (pa.ArrowException, TypeError) as error:
            raise InputError(f"does not fit its schema ({error})", file=self.name) from error
        nulls = [c.name for c in self.columns if table[c.name].null_count and not c.nullable]
        if nulls:
            raise InputError(f"columns {nulls} hold nulls", file=self.name)
        return table.replace_schema_metadata(dict(metadata)) if metadata else table

    def from_records(
        self, records: Sequence[Any], metadata: Mapping[str, str] | None = None
    ) -> pa.Table:
        """Build a table from objects whose attributes are the columns (see `table`)."""
        columns = {name: [getattr(record, name) for record in records] for name in self.names}
        return self.table(columns, metadata)

    def from_frame(self, frame: "pd.DataFrame") -> pa.Table:
        """Build a table from a data frame that has exactly the declared columns (see `table`)."""
        return self.table({name: frame[name].to_list() for name in frame.columns})

    def read(self, path: str | os.PathLike[str]) -> pa.Table:
        """Read a Parquet table of this schema.

        Raises
        ------
        InputError
            If the file cannot be read or its columns are not the declared ones.
        """
        table = read_parquet(path)
        if table.schema.names != self.names or table.schema.types != self.arrow.types:
            raise InputError(
                f"columns {table.schema.names} are not those of {self.name}",
                file=path,
                remedy="It was written by another version: delete it and run again",
            )
        return table


def read_parquet(path: str | os.PathLike[str]) -> pa.Table:
    """Read a Parquet file; a missing, truncated or foreign one is an `InputError`."""
    try:
        # One thread: the files are small, and workers already run one to a core.
        return pq.read_table(path, use_threads=False)
    except FileNotFoundError as error:
        raise InputError("no such file", file=path) from error
    except PermissionError as error:
        raise InputError("no permission to read it", file=path) from error
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"not a readable Parquet file, truncated perhaps ({reason})",
            file=path,
            remedy="If the workflow made it, delete it and run again",
        ) from error


def check_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a table that can be written, `.parquet` or `.csv`.

    Raises
    ------
    InputError
        If it is another.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        raise InputError(
            f"cannot write '{suffix}' tables", file=path, remedy=f"Use {' or '.join(_WRITERS)}"
        )
    return suffix


def write_table(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Write a table as Parquet or CSV, by the suffix of `path`, whole or not at all.

    Raises
    ------
    InputError
        If the suffix is neither `.parquet` nor `.csv`, or the place cannot be written to.
    """
    write = _WRITERS[check_suffix(path)]
    with whole_file(path) as partial:
        write(table, partial)


def _write_parquet(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, compression="zstd")


_WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    ".parquet": _write_parquet,
    ".csv": pa_csv.write_csv,
}
