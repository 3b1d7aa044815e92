"""The result of a manual review: which test images are near duplicates."""

from pathlib import Path

from matcheval.errors import InputError
from matcheval.io.csv_rows import read_csv_rows


def read_reviewed(path: str | Path) -> list[int]:
    """Read which images of a test set are near duplicates.

    Parameters
    ----------
    path : path-like
        CSV file with a column `index`; other columns are ignored.

    Returns
    -------
    list of int
        Positions in the test set, from 0, in the order of the file.

    Raises
    ------
    InputError
        If the file cannot be read, has no such column, or a cell is not a whole number.
    """
    rows = read_csv_rows(path, ("index",))
    try:
        return [int(row["index"]) for row in rows]
    except (TypeError, ValueError) as error:
        raise InputError("not a whole number", file=path, field="index") from error
