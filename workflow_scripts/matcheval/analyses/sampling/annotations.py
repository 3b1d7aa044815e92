"""Workers' annotations: whether a worker, shown an image for a class, selected it."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv

from matcheval.analyses.sampling.schemas import ANNOTATIONS
from matcheval.errors import InputError
from matcheval.io.tables import read_parquet

ORIGINS = ("pool", "original")
_KEY = ["task", "worker", "origin", "image", "class"]
_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_MOST_NAMED = 3  # unknown names listed in a message
_PLURALS = {"origin": "origins", "image": "images", "class": "classes"}


def read_annotations(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table of annotations."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".parquet", ".csv"):
        raise InputError(
            f"'{suffix}' is not a supported table format", file=path, remedy="Use .parquet or .csv"
        )
    frame = _read_csv(path) if suffix == ".csv" else read_parquet(path).to_pandas()
    for column, value in (("origin", "pool"), ("task", "")):
        if column not in frame:
            frame[column] = value
    wrong = set(ANNOTATIONS.names) ^ set(frame.columns)
    if wrong:
        raise InputError(
            f"columns {sorted(wrong)} are missing or unknown",
            file=path,
            remedy=f"The columns must be {', '.join(ANNOTATIONS.names)}",
        )
    frame = frame[ANNOTATIONS.names]
    empty = [name for name in ("worker", "image", "class") if (frame[name].fillna("") == "").any()]
    if empty:
        raise InputError(f"empty cells in {', '.join(empty)}", file=path)
    selected = frame["selected"].astype(str).str.lower().map(_TRUTH)
    if selected.isna().any():
        row = int(selected.isna().to_numpy().argmax())
        raise InputError(
            f"row {row} (from 0): '{frame['selected'].iloc[row]}' is neither true nor false",
            file=path,
            field="selected",
        )
    texts = {name: frame[name].astype(str) for name in ANNOTATIONS.names[:-1]}
    return pd.DataFrame(texts | {"selected": selected.astype(bool)})


def check_annotations(
    annotations: pd.DataFrame,
    images: Mapping[str, Collection[str]],
    classes: Collection[str],
    *,
    repeated: str = "refuse",
    file: object = None,
) -> tuple[pd.DataFrame, int]:
    """Check annotations against the known images and classes."""
    _refuse_unknown(annotations["origin"], ORIGINS, file, "origin")
    for origin in ORIGINS:
        of_origin = annotations.loc[annotations["origin"] == origin, "image"]
        _refuse_unknown(of_origin, images[origin], file, "image", f" of the {origin}")
    _refuse_unknown(annotations["class"], classes, file, "class")
    twice = annotations.duplicated(_KEY)
    if twice.any() and repeated == "refuse":
        row = annotations[twice].iloc[0]
        raise InputError(
            f"repeated annotations ({int(twice.sum())} in all): worker '{row['worker']}' annotated "
            f"image '{row['image']}' for class '{row['class']}' more than once"
            + (f" in task '{row['task']}'" if row["task"] else ""),
            file=file,
            field="worker",
            remedy="Correct the table, or count only first annotations with 'repeated: first'",
        )
    return annotations[~twice], int(twice.sum())


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
    """Read a CSV file with all cells as text, so that names like 0012 keep their zeros."""
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
