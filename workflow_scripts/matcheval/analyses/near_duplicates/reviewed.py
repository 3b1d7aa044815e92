"""What a person found on the contact sheets: which test images are near duplicates."""

from pathlib import Path

from matcheval.errors import InputError
from matcheval.io.csv_rows import read_csv_rows


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
    rows = read_csv_rows(path, ("index",))
    try:
        return [int(row["index"]) for row in rows]
    except (TypeError, ValueError) as error:
        raise InputError("not a whole number", file=path, field="index") from error
