"""`matcheval.replication_table`: accuracies of many models on two sets, ranks and fits."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from matcheval.api.inputs import InputWarning, Models
from matcheval.api.model_accuracies import read_accuracies
from matcheval.api.options import check_names
from matcheval.datasets.suites import Pair
from matcheval.errors import InputError, unknown_name_error
from matcheval.replication.fits import Fit, ReplicationSettings, fit_replication
from matcheval.replication.tables import FITS, REGION, summarize_changes, tabulate_replication
from matcheval.statistics.lines import MIN_MODELS, RESAMPLES, Scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Table = Literal["results", "fits", "changes"]
_TABLES: tuple[Table, ...] = ("results", "fits", "changes")


@dataclass(frozen=True)
class ReplicationFit:
    """A line fitted to new against original accuracies of the models.

    Attributes
    ----------
    scale : str
        `linear` (accuracies in percent) or `probit` (Φ⁻¹ of the accuracy).
    slope, slope_low, slope_high : float
        With its interval by the bootstrap over models.
    offset, offset_low, offset_high : float
        In percentage points, or standard deviations on the probit scale.
    r_squared : float
        Coefficient of determination on the scale.
    n_models : int
        Models fitted.
    """

    scale: str
    slope: float
    slope_low: float
    slope_high: float
    offset: float
    offset_low: float
    offset_high: float
    r_squared: float
    n_models: int


@dataclass(frozen=True, eq=False)
class ReplicationResult:
    """Accuracies of models on two sets, ranks and fits; what `replication_table` returns.

    Attributes
    ----------
    original, replication : str
        Names of the sets.
    models : tuple of str
        By rank on the original.
    top : int
        k: a prediction is correct if the label is among the k most probable classes.
    confidence : float
        Level of all intervals.
    change : float
        Mean over models of replication minus original accuracy, a fraction.
    spearman, kendall : float
        Rank correlations of the accuracies; NaN if undefined.
    fits : mapping of str to ReplicationFit
        By scale; only those that can be made (of at least three models).
    warnings : tuple of str
        Why a fit is missing, and what was left out.
    """

    original: str
    replication: str
    models: tuple[str, ...]
    top: int
    confidence: float
    change: float
    spearman: float
    kendall: float
    fits: Mapping[str, ReplicationFit]
    warnings: tuple[str, ...]
    _tables: Mapping[Table, pd.DataFrame] = field(repr=False)
    _region: pd.DataFrame = field(repr=False)

    def to_pandas(self, table: Table = "results") -> pd.DataFrame:
        """Return a table of the results; accuracies and gaps are fractions.

        Parameters
        ----------
        table : str
            `results`: accuracies, gaps with intervals and ranks, a row per model; `fits`: a row per
            scale; `changes`: one row of means over models.

        Returns
        -------
        pandas.DataFrame
            A new table, with the columns of `matcheval.replication.tables.RESULTS`, `FITS` or
            `CHANGES` there.

        Raises
        ------
        InputError
            If there is no such table.
        """
        if table not in _TABLES:
            raise unknown_name_error("table", str(table), _TABLES)
        return self._tables[table].copy()

    def plot(self, scale: str = "linear") -> "Figure":
        """Draw new against original accuracies, with the fitted line and its confidence region.

        Parameters
        ----------
        scale : str
            `linear` or `probit`, one of `fits`.

        Returns
        -------
        matplotlib.figure.Figure
            Not known to pyplot.

        Raises
        ------
        InputError
            If there is no fit on this scale.
        """
        from matcheval.replication.figures import plot_replication

        if scale not in self.fits:
            told = "; ".join(self.warnings)
            raise InputError(
                f"no fit on the scale {scale!r:.40}",
                remedy=f"There are {', '.join(self.fits) or 'none'}{f' ({told})' if told else ''}",
            )
        fits = self._tables["fits"]
        fit = fits[fits["scale"] == scale].iloc[0]
        return plot_replication(self._tables["results"], fit, self._region, Scale(scale))


def replication_table(
    original: Models,
    replication: Models,
    *,
    top: int = 1,
    confidence: float = 0.95,
    paired: bool = False,
    names: tuple[str, str] = ("original", "replication"),
    resamples: int = RESAMPLES,
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
) -> ReplicationResult:
    """Tabulate the accuracies of models on an original and a new test set, and fit lines.

    The numbers are those of the analysis `replication` of a study. No probabilities are needed.

    Parameters
    ----------
    original, replication : mapping of predictions by model, path-like, or table
        Predictions of all models on each set, as `compare` takes them: a mapping by name, or a path
        with `{model}`. `probability` may be missing; `prediction` may be an array (int, shape
        (n, k)) of the k most probable classes. Or their accuracies: a table, a mapping of arrays or
        a file with columns `model` (text), and `n_correct` and `n` (int, datapoints) or `accuracy`
        (a fraction) and optionally `n`, without which there are no intervals of accuracies.
    top : int
        k: a prediction is correct if the label is among the k most probable classes. Accuracies are
        taken to be of this k.
    confidence : float
        Level of all intervals, in (0, 1): Clopper-Pearson for accuracies, normal for gaps,
        bootstrap over models for fits.
    paired : bool
        Whether both sets show the same images, row by row; needs predictions.
    names : tuple of str
        What the two sets are called.
    resamples : int
        Bootstrap resamples of the models, per fit.
    columns, classes, first_label
        As for `compare`.

    Returns
    -------
    ReplicationResult

    Raises
    ------
    InputError
        If predictions or accuracies are missing for a model on one of the sets, have the wrong
        shape, dtype or values out of range; models are of different datapoints; an accuracy is none
        on `n` datapoints; or an argument is out of range.

    Warns
    -----
    InputWarning
        If a line cannot be fitted, or files of a model are left out.

    References
    ----------
    Recht et al. (2019), arXiv 1902.10811: Table 1, Fig. 1 and section 3.4; probit: appendix C.2.

    Examples
    --------
    >>> import matcheval as me
    >>> old = {"model": ["a", "b", "c"], "n_correct": [930, 850, 780], "n": [1000] * 3}
    >>> new = {"model": ["a", "b", "c"], "n_correct": [420, 370, 320], "n": [500] * 3}
    >>> found = me.replication_table(old, new, resamples=1000)
    >>> round(found.change, 4), round(found.fits["linear"].slope, 2)
    (-0.1133, 1.33)
    """
    settings = _settings(top, confidence, resamples)
    pair = _pair(names, paired)
    read = read_accuracies(original, replication, pair, int(top), (columns, classes, first_label))
    results = tabulate_replication(
        read.original, read.replication, pair, int(top), float(confidence), read.images
    )
    made, told = _fits(results, settings)
    changes = summarize_changes([results])
    result = ReplicationResult(
        original=pair.original,
        replication=pair.replication,
        models=tuple(results["model"]),
        top=int(top),
        confidence=float(confidence),
        change=float(changes["change"].iloc[0]),
        spearman=float(changes["spearman"].iloc[0]),
        kendall=float(changes["kendall"].iloc[0]),
        fits={fit.row["scale"]: _fit_of(fit.row) for fit in made},
        warnings=(*read.left_out, *told),
        _tables={
            "results": results,
            "fits": pd.DataFrame([fit.row for fit in made], columns=FITS.names),
            "changes": changes,
        },
        _region=pd.concat([fit.region for fit in made] or [pd.DataFrame(columns=REGION.names)]),
    )
    for text in result.warnings:
        warnings.warn(text, InputWarning, stacklevel=2)
    return result


def _fits(results: pd.DataFrame, settings: ReplicationSettings) -> tuple[list[Fit], list[str]]:
    """Fit a line on every scale; say why where that cannot be done."""
    if len(results) < MIN_MODELS:
        return [], [f"no fits: a line needs at least {MIN_MODELS} models, not {len(results)}"]
    made, told = [], []
    for scale in settings.scales:
        try:
            made.append(fit_replication(results, scale, settings))
        except InputError as error:
            told.append(f"no fit on the {scale.value} scale: {error}")
    return made, told


def _fit_of(row: Mapping[str, Any]) -> ReplicationFit:
    return ReplicationFit(**{one.name: row[one.name] for one in fields(ReplicationFit)})


def _settings(top: int, confidence: float, resamples: int) -> ReplicationSettings:
    for name, value in (("top", top), ("resamples", resamples)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InputError(f"{name} is {value!r:.40}", remedy="Give 1, 2, ...")
    is_number = isinstance(confidence, int | float | np.number)
    if isinstance(confidence, bool) or not is_number or not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence!r:.40}", remedy="Give a level such as 0.95")
    return ReplicationSettings(resamples=int(resamples))


def _pair(names: tuple[str, str], paired: bool) -> Pair:
    check_names(names)
    return Pair("pair", *names, None, bool(paired))
