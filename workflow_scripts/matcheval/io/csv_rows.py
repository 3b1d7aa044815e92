"""The user's CSV files, read as rows of text."""

import csv
from collections.abc import Sequence
from pathlib import Path

from matcheval.errors import InputError


def read_csv_rows(path: str | Path, required: Sequence[str]) -> list[dict[str, str]]:
    """Read a CSV file with a header.

    Parameters
    ----------
    path : path-like
        UTF-8, with or without a byte order mark; the first line is the header.
    required : sequence of str
        Columns that the file must have; it may have others.

    Returns
    -------
    list of dict
        The rows, as cells by column; cells missing at the end of a row are empty.

    Raises
    ------
    InputError
        If the file is missing or not readable as CSV, or a required column is missing.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True, restval="")
            rows = list(reader)
    except FileNotFoundError as error:
        raise InputError("no such file", file=path) from error
    except (csv.Error, UnicodeDecodeError, OSError) as error:
        raise InputError(f"not readable as CSV ({error})", file=path) from error
    missing = [column for column in required if column not in (reader.fieldnames or ())]
    if missing:
        raise InputError(
            f"no column {' and '.join(missing)} in the header {reader.fieldnames}", file=path
        )
    return rows
