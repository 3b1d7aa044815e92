"""Workers' answers: who, shown which image for which class, selected it."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv

from matcheval.analyses.sampling.schemas import ANSWERS
from matcheval.errors import InputError
from matcheval.io.tables import read_parquet

ORIGINS = ("pool", "original")
_KEY = ["task", "worker", "origin", "image", "class"]
_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_MOST_NAMED = 3
_PLURALS = {"origin": "origins", "image": "images", "class": "classes"}


def read_answers(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table of answers.

    Parameters
    ----------
    path : path-like
        Parquet or CSV with the columns of `schemas.ANSWERS`, a row per answer. `origin` may be
        missing (all images are of the pool), and so may `task` (a worker saw an image once).

    Returns
    -------
    pandas.DataFrame
        Columns of `schemas.ANSWERS`, `selected` as booleans.

    Raises
    ------
    InputError
        If a column is missing or unknown, a cell is empty, or `selected` is no truth value.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".parquet", ".csv"):
        raise InputError(f"'{suffix}' is no table", file=path, remedy="Use .parquet or .csv")
    frame = _read_csv(path) if suffix == ".csv" else read_parquet(path).to_pandas()
    for column, value in (("origin", "pool"), ("task", "")):
        if column not in frame:
            frame[column] = value
    wrong = set(ANSWERS.names) ^ set(frame.columns)
    if wrong:
        raise InputError(
            f"columns {sorted(wrong)} are missing or unknown",
            file=path,
            remedy=f"Give {', '.join(ANSWERS.names)}",
        )
    frame = frame[ANSWERS.names]
    empty = [name for name in ("worker", "image", "class") if (frame[name].fillna("") == "").any()]
    if empty:
        raise InputError(f"empty cells in {', '.join(empty)}", file=path)
    selected = frame["selected"].astype(str).str.lower().map(_TRUTH)
    if selected.isna().any():
        row = int(selected.isna().to_numpy().argmax())
        raise InputError(
            f"row {row}: '{frame['selected'].iloc[row]}' is neither true nor false",
            file=path,
            field="selected",
        )
    texts = {name: frame[name].astype(str) for name in ANSWERS.names[:-1]}
    return pd.DataFrame(texts | {"selected": selected.astype(bool)})


def check_answers(
    answers: pd.DataFrame,
    images: Mapping[str, Collection[str]],
    classes: Collection[str],
    *,
    repeated: str = "refuse",
    file: object = None,
) -> tuple[pd.DataFrame, int]:
    """Check answers against the images and classes there are.

    Parameters
    ----------
    answers : pandas.DataFrame
        Columns of `schemas.ANSWERS`.
    images : mapping
        Names of the images by origin, `pool` and `original`.
    classes : collection of str
        Names of the classes.
    repeated : str
        What becomes of a worker's second answer to one image and class of one task: `refuse`, or
        `first` to keep the first one only.
    file : object
        What messages call the table.

    Returns
    -------
    pandas.DataFrame, int
        The answers that count, and how many repeated ones were left out.

    Raises
    ------
    InputError
        Naming unknown origins, images or classes, or who answered twice.
    """
    _refuse_unknown(answers["origin"], ORIGINS, file, "origin")
    for origin in ORIGINS:
        of_origin = answers.loc[answers["origin"] == origin, "image"]
        _refuse_unknown(of_origin, images[origin], file, "image", f" of the {origin}")
    _refuse_unknown(answers["class"], classes, file, "class")
    twice = answers.duplicated(_KEY)
    if twice.any() and repeated == "refuse":
        row = answers[twice].iloc[0]
        raise InputError(
            f"{int(twice.sum())} answers are repeated: worker '{row['worker']}' answered twice to "
            f"image '{row['image']}' and class '{row['class']}'"
            + (f" in task '{row['task']}'" if row["task"] else ""),
            file=file,
            field="worker",
            remedy="Mend the table, or count first answers only with 'repeated: first'",
        )
    return answers[~twice], int(twice.sum())


def _refuse_unknown(
    values: pd.Series, known: Collection[str], file: object, field: str, of: str = ""
) -> None:
    unknown = sorted(set(values) - set(known))
    if unknown:
        named = ", ".join(f"'{name}'" for name in unknown[:_MOST_NAMED])
        more = ", ..." if len(unknown) > _MOST_NAMED else ""
        raise InputError(
            f"{len(unknown)} unknown {_PLURALS[field] if len(unknown) > 1 else field}{of}: "
            f"{named}{more}",
            file=file,
            field=field,
        )


def _read_csv(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read all cells as text, so that names like 0012 stay as they are."""
    try:
        with Path(path).open(encoding="utf-8-sig") as stream:
            names = stream.readline().rstrip("\r\n").split(",")
        types = {name.strip('"'): pa.string() for name in names}
        options = pa_csv.ConvertOptions(column_types=types, strings_can_be_null=False)
        frame: pd.DataFrame = pa_csv.read_csv(path, convert_options=options).to_pandas()
    except FileNotFoundError as error:
        raise InputError("no such file", file=path) from error
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"not readable as CSV ({reason})", file=path) from error
    return frame
