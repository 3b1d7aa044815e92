"""Results of one suite as its figures need them, with colours and drawing functions they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.accuracy_prediction.predicting import DIRECT
from matcheval.accuracy_prediction.reading import how, titles
from matcheval.accuracy_prediction.scores.registry import ALL_SCORES
from matcheval.accuracy_prediction.views import WHOLE
from matcheval.figures.style import NOTE_SIZE
from matcheval.io.text_tables import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
WAY = ["protocol", "regressor", "calibrated_on"]
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
    uncounted : tuple of str
        Names of single models and ensembles, which are drawn only where models are told apart.
    """

    predicted: pd.DataFrame
    errors: pd.DataFrame
    correlations: pd.DataFrame
    gaps: pd.DataFrame | None = None
    uncounted: tuple[str, ...] = ()

    @property
    def whole(self) -> pd.DataFrame:
        """Predictions on whole sets, with a column `title` of methods."""
        return with_titles(self.predicted[self.predicted["view"] == WHOLE])

    def of(self, model: str = "") -> pd.DataFrame:
        """Return predictions on whole sets, of one model or of all that count.

        Parameters
        ----------
        model : str
            Name of a model or ensemble; empty for all models.
        """
        rows = self.whole
        chosen = rows["model"] == model if model else ~rows["model"].isin(self.uncounted)
        return rows[chosen]

    @property
    def groups(self) -> dict[str, tuple[str, str]]:
        """Colour and marker of every group of sets, in order; no two have both alike."""
        names = dict.fromkeys(self.predicted["group"])
        n = len(COLORS)
        return {
            name: (COLORS[i % n], MARKERS[(i + i // n) % len(MARKERS)])
            for i, name in enumerate(names)
        }


def of_way(rows: pd.DataFrame, way: Sequence[str]) -> pd.DataFrame:
    """Return predictions of one way, and those without a regression on the same sets.

    Parameters
    ----------
    rows : pandas.DataFrame
        Columns of `schemas.PREDICTED`.
    way : sequence of str
        `protocol`, `regressor` and `calibrated_on`.

    Returns
    -------
    pandas.DataFrame
        Of a method that predicts in this way and without a regression, only the former.
    """
    own = rows[(rows[WAY] == list(way)).all(axis=1)]
    direct = rows[(rows["protocol"] == DIRECT) & rows["dataset"].isin(own["dataset"])]
    known = own[["method", "variant"]].drop_duplicates()
    is_own = direct.set_index(["method", "variant"]).index.isin(pd.MultiIndex.from_frame(known))
    return pd.concat([own, direct[~is_own]], ignore_index=True)


def way_text(way: Sequence[str]) -> str:
    """Return a way of predicting in words, for the beginning of a sentence.

    Parameters
    ----------
    way : sequence of str
        `protocol`, `regressor` and `calibrated_on`.
    """
    text = how(dict(zip(WAY, way, strict=True)))
    return text[:1].upper() + text[1:]


def add_heat_map(
    figure: "Figure",
    values: Floats,
    columns: Sequence[str],
    rows: Sequence[str],
    limit: float,
    label: str,
    *,
    digits: int | None = None,
) -> "Axes":
    """Draw a matrix in colours from blue to red, with its numbers if asked for.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    values : float64 array, shape (n_rows, n_columns)
        NaN where there is none.
    columns, rows : sequence of str
        Labels.
    limit : float
        Magnitude of the darkest colours.
    label : str
        Of the colour bar.
    digits : int, optional
        Digits after the decimal point of the numbers; without numbers by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    axes = figure.add_subplot()
    image = axes.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    axes.set_xticks(np.arange(len(columns)), list(columns), rotation=90, fontsize=NOTE_SIZE)
    axes.set_yticks(np.arange(len(rows)), list(rows))
    axes.grid(visible=False)
    if digits is not None:
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value):
                color = "white" if abs(value) > 0.6 * limit else "black"
                axes.text(column, row, signed(value, digits), ha="center", va="center",
                          fontsize=NOTE_SIZE, color=color)  # fmt: skip
    figure.colorbar(image, label=label, fraction=0.05)
    return axes


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
