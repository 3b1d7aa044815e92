"""CSV files of the user's own with a header, as rows of text."""

import csv
from collections.abc import Sequence
from pathlib import Path

from matcheval.errors import InputError


def read_csv_rows(path: str | Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """Read a CSV file.

    Parameters
    ----------
    path : path-like
        UTF-8, with or without a byte order mark, its first line the header.
    needed : sequence of str
        Columns that it must have; it may have others.

    Returns
    -------
    list of dict
        The rows by column; cells that a row lacks are empty.

    Raises
    ------
    InputError
        If the file is missing or not readable as CSV, or a column is missing.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True, restval="")
            rows = list(reader)
    except FileNotFoundError as error:
        raise InputError("no such file", file=path) from error
    except (csv.Error, UnicodeDecodeError, OSError) as error:
        raise InputError(f"not readable as CSV ({error})", file=path) from error
    missing = [column for column in needed if column not in (reader.fieldnames or ())]
    if missing:
        raise InputError(
            f"no column {' and '.join(missing)} in the header {reader.fieldnames}", file=path
        )
    return rows
