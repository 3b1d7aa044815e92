"""What the figures of a suite are drawn from."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from matcheval.accuracy_prediction.reading import titles
from matcheval.accuracy_prediction.scores.registry import ALL_SCORES
from matcheval.accuracy_prediction.views import WHOLE

# Of Okabe and Ito, for groups of sets; markers differ, too.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


@dataclass(frozen=True)
class Results:
    """Tables of one suite.

    Attributes
    ----------
    predicted : pandas.DataFrame
        Columns of `schemas.PREDICTED`.
    errors : pandas.DataFrame
        Columns of `aggregation.ERRORS`.
    correlations : pandas.DataFrame
        Columns of `aggregation.CORRELATIONS`.
    gaps : pandas.DataFrame or None
        Columns of `gaps.GAPS`; None where gaps are not matched.
    """

    predicted: pd.DataFrame
    errors: pd.DataFrame
    correlations: pd.DataFrame
    gaps: pd.DataFrame | None = None

    @property
    def whole(self) -> pd.DataFrame:
        """Predictions on whole sets, with a column `title` of methods."""
        return with_titles(self.predicted[self.predicted["view"] == WHOLE])

    @property
    def groups(self) -> dict[str, tuple[str, str]]:
        """Colour and marker of every group of sets, in order."""
        names = dict.fromkeys(self.predicted["group"])
        return {
            name: (COLORS[i % len(COLORS)], MARKERS[i % len(MARKERS)])
            for i, name in enumerate(names)
        }


def with_titles(table: pd.DataFrame) -> pd.DataFrame:
    """Add a column `title`, the name of the method for readers.

    Parameters
    ----------
    table : pandas.DataFrame
        With `method` and `variant`.
    """
    rows = table[["method", "variant"]].drop_duplicates()
    names: Mapping[tuple[str, str], str] = dict(
        zip(rows.itertuples(index=False, name=None), titles(rows, ALL_SCORES), strict=True)
    )
    keys = zip(table["method"], table["variant"], strict=True)
    return table.assign(title=[names[key] for key in keys])
