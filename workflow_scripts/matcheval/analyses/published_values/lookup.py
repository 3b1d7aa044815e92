"""Lookup of the computed counterpart of a published value in a table of the study."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.analyses.published_values.values import PublishedValue, Statistic
from matcheval.errors import InputError, suggest


def look_up(table: pa.Table, value: PublishedValue, column: str) -> float:
    """Find the computed counterpart of a published value, or of a bound of its interval."""
    frame = _selected_rows(table.to_pandas(), value)
    if value.statistic is Statistic.COUNT:
        return float(len(frame))
    _check_column(column, frame, value, "column")
    if not pd.api.types.is_numeric_dtype(frame[column]):
        raise InputError(f"'{column}' holds no numbers", file=value.place, field="column")
    if (value.statistic is Statistic.VALUE and len(frame) != 1) or frame.empty:
        raise InputError(
            f"{len(frame)} rows of '{value.table}' for '{value.name}', {value.quantity}",
            file=value.place,
            field="rows",
            remedy="Select one row, or give a 'statistic' of several rows",
        )
    reduce: Callable[[pd.Series], float] = {
        Statistic.VALUE: lambda cells: cells.iloc[0],
        Statistic.MIN: lambda cells: cells.min(),
        Statistic.MEAN: lambda cells: cells.mean(),
        Statistic.MAX: lambda cells: cells.max(),
    }[value.statistic]
    unit = (table.schema.field(column).metadata or {}).get(b"unit", b"")
    number = float(reduce(frame[column])) * (100 if unit == b"fraction" else 1)
    return number if math.isfinite(number) else math.nan


def _selected_rows(frame: pd.DataFrame, value: PublishedValue) -> pd.DataFrame:
    """Rows that meet all conditions of a published value."""
    is_selected = np.ones(len(frame), bool)
    for name, wanted in value.rows:
        _check_column(name, frame, value, "rows")
        found = (frame[name].astype(str) == wanted).to_numpy()
        if not found.any():
            raise InputError(
                f"'{wanted}' does not occur in column '{name}' of '{value.table}'",
                file=value.place,
                field="rows",
                remedy=suggest(wanted, frame[name].astype(str).unique().tolist()),
            )
        is_selected &= found
    return frame[is_selected]


def _check_column(name: str, frame: pd.DataFrame, value: PublishedValue, field: str) -> None:
    if name not in frame:
        raise InputError(
            f"no column '{name}' in '{value.table}'; its columns are {', '.join(frame.columns)}",
            file=value.place,
            field=field,
        )
