"""What a person found on the contact sheets: which test images are near duplicates."""

import csv
from pathlib import Path

from matcheval.errors import InputError


def read_reviewed(path: str | Path) -> list[int]:
    """Read the near duplicates of a test set: CSV with a column `index`, perhaps others.

    Returns
    -------
    list of int
        Positions in the test set.

    Raises
    ------
    InputError
        If the file is missing, has no such column, or a cell is no whole number.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            rows = list(reader)
    except FileNotFoundError as error:
        raise InputError("no such file", file=path) from error
    except (csv.Error, UnicodeDecodeError, OSError) as error:
        raise InputError(f"not readable as CSV ({error})", file=path) from error
    if "index" not in (reader.fieldnames or ()):
        raise InputError(f"no column index in the header {reader.fieldnames}", file=path)
    try:
        return [int(row["index"]) for row in rows]
    except (TypeError, ValueError) as error:
        raise InputError("not a whole number", file=path, field="index") from error
