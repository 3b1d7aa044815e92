"""What can be said of a gap, in words: sentences that hold for the numbers they are given.

Rows are those of `gap_schemas.MEAN_GAPS` or `GAPS`. Numbers are in percentage points, shares and
narrowings in percent.
"""

from collections.abc import Iterable

import pandas as pd

from matcheval.io.text_tables import TextColumn, signed
from matcheval.protocol.criteria import matching_label

UNDEFINED = "undefined"
BEYOND = "beyond sampling error"


def matching_column(names: Iterable[str]) -> TextColumn:
    """Lay out the column that says how the rows of a table were matched."""
    return TextColumn("Matching", [matching_label(name) for name in names], is_number=False)


def points(value: float) -> str:
    """Format a difference of accuracies in percentage points."""
    return UNDEFINED if pd.isna(value) else signed(100 * value, 2)


def percent(value: float, digits: int = 0) -> str:
    """Format a share in percent."""
    return UNDEFINED if pd.isna(value) else f"{signed(100 * value, digits)} %"


def with_interval(row: pd.Series, name: str) -> str:
    """Format a quantity in percentage points with its 95 % interval, if it has one."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    bounds = "" if pd.isna(low) or pd.isna(high) else f" [{points(low)}, {points(high)}]"
    return points(row[name]) + bounds


def share_of_confidence(row: pd.Series) -> str:
    """Format the share of a gap that goes with confidence, with its interval."""
    if pd.isna(row["confidence_share"]):
        return UNDEFINED
    low, high = (signed(100 * row[f"confidence_share_{end}"], 0) for end in ("low", "high"))
    return f"{percent(row['confidence_share'])} [{low}, {high}]"


def verdict(row: pd.Series) -> str:
    """Say whether a matched gap differs from 0 by more than sampling error."""
    value, low, high = (row[f"matched_gap{end}"] for end in ("", "_low", "_high"))
    if pd.isna(value):
        return UNDEFINED
    if pd.isna(low):
        return "of unknown error"
    if low <= 0 <= high:
        return "within sampling error of 0"
    return BEYOND


def narrowing(row: pd.Series) -> str:
    """Say by how much matching narrows a gap, and one without any warning."""
    narrower = _narrower(row["narrowing"])
    if pd.isna(row["reference_narrowing"]):
        return f"{narrower}, without a reference to compare that with"
    sizes = f"{row['n_reference_original']:,} and {row['n_reference_replication']:,} datapoints"
    return (
        f"{narrower}. In samples of {sizes} it is {_narrower(row['same_size_narrowing'])}, where a "
        f"gap of which confidence gives no warning is {_narrower(row['reference_narrowing'])}"
    )


def _narrower(share: float) -> str:
    return f"wider by {percent(-share)}" if share < 0 else f"narrower by {percent(share)}"
