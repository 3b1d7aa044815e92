"""`matcheval.replication_table`: accuracies of many models on two sets, ranks and fits."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.api.inputs import (
    Given,
    InputWarning,
    Models,
    check_whole,
    is_of_several,
    layout_of,
)
from matcheval.api.pairs import (
    UNNAMED,
    GivenModel,
    all_given,
    check_names,
    checked_model_name,
    given_models,
)
from matcheval.datasets.suites import Pair
from matcheval.errors import ErrorCollector, InputError, unknown_name_error
from matcheval.predictions.correctness import ACCURACIES, Correctness
from matcheval.predictions.layout import Layout
from matcheval.predictions.model_outputs import labels_of, ranked_classes
from matcheval.predictions.patterns import MODEL
from matcheval.predictions.published_files import count_hits, counts_of
from matcheval.predictions.records import MAX_CLASSES, checked_integers
from matcheval.replication.fits import Fit, ReplicationSettings, fit_replication
from matcheval.replication.tables import FITS, REGION, summarize_changes, tabulate_replication
from matcheval.statistics.lines import MIN_MODELS, RESAMPLES, Scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = Literal["results", "fits", "changes"]
_TABLES: tuple[Table, ...] = ("results", "fits", "changes")
_COLUMNS = ("model", "accuracy", "n_correct", "n")
_LARGEST = int(np.iinfo(np.int32).max)
# Columns, classes and the first label.
LayoutArguments: TypeAlias = tuple[Mapping[str, str] | None, int | str | Sequence[str] | None, int]


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


_FIT_FIELDS = fields(ReplicationFit)


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
    check_whole("top", top, 1)
    check_whole("resamples", resamples, 1)
    is_number = isinstance(confidence, int | float | np.number)
    if isinstance(confidence, bool) or not is_number or not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence!r:.40}", remedy="Give a level such as 0.95")
    check_names(names)
    pair = Pair("pair", *names, None, bool(paired))
    layout = (columns, classes, first_label)
    (old, new), images, told = _read_accuracies(original, replication, pair, int(top), layout)
    results = tabulate_replication(old, new, pair, int(top), float(confidence), images)
    fits = _fits(results, int(resamples), told)
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
        fits={
            fit.row["scale"]: ReplicationFit(**{f.name: fit.row[f.name] for f in _FIT_FIELDS})
            for fit in fits
        },
        warnings=tuple(told),
        _tables={
            "results": results,
            "fits": pd.DataFrame([fit.row for fit in fits], columns=FITS.names),
            "changes": changes,
        },
        _region=pd.concat([fit.region for fit in fits] or [pd.DataFrame(columns=REGION.names)]),
    )
    for text in result.warnings:
        warnings.warn(text, InputWarning, stacklevel=2)
    return result


def _fits(results: pd.DataFrame, resamples: int, told: list[str]) -> list[Fit]:
    """Fit a line on every scale; add to `told` why where that cannot be done."""
    settings = ReplicationSettings(resamples=resamples)
    if len(results) < MIN_MODELS:
        told.append(f"no fits: a line needs at least {MIN_MODELS} models, not {len(results)}")
        return []
    fits = []
    for scale in settings.scales:
        try:
            fits.append(fit_replication(results, scale, settings))
        except InputError as error:
            told.append(f"no fit on the {scale.value} scale: {error}")
    return fits


def _read_accuracies(
    original: Models, replication: Models, pair: Pair, top: int, arguments: LayoutArguments
) -> tuple[list[pa.Table], tuple[Correctness, ...], list[str]]:
    """Return the table `ACCURACIES` of each set, which paired images are right, and remarks."""
    sets = {"original": original, "replication": replication}
    known = {origin: _accuracy_columns(given, origin) for origin, given in sets.items()}
    columns = {origin: found for origin, found in known.items() if found is not None}
    if columns and pair.paired:
        raise InputError("paired images need predictions, not accuracies", field="paired")
    if len(columns) == 1:
        raise InputError("one set has accuracies, the other predictions", remedy="Give both alike")
    if columns:
        given = [
            _accuracies(*_checked(found, origin), pair.datasets[origin], top)
            for origin, found in columns.items()
        ]
        return given, (), []
    models, left_out = given_models(original, replication)
    layout, n_classes = layout_of(all_given(models), *arguments)
    tables, images = [], list[Correctness]()
    for origin, dataset in pair.datasets.items():
        hits, correctness = _count_set(models, origin, layout, n_classes, top)
        n = len(correctness)
        rows = [(k / n, k, n) for k in hits]
        tables.append(_accuracies(correctness.models, rows, dataset, top))
        images.append(correctness)
    return tables, tuple(images) if pair.paired else (), left_out


def _accuracies(
    models: Sequence[str], rows: Sequence[tuple[float, int, int]], dataset: str, top: int
) -> pa.Table:
    """Return the table `ACCURACIES` of accuracies, correct datapoints and datapoints."""
    accuracy, n_correct, n = zip(*rows, strict=True)
    return ACCURACIES.table(
        {
            "model": models, "dataset": [dataset] * len(rows), "top": [top] * len(rows),
            "accuracy": accuracy, "n_correct": n_correct, "n": n,
        }
    )  # fmt: skip


def _accuracy_columns(given: Models, origin: str) -> dict[str, list[Any]] | None:
    """Return the columns of a table of accuracies; None if these are predictions."""
    is_pattern = isinstance(given, str | os.PathLike) and MODEL in os.fspath(given)
    if is_pattern or is_of_several(given):
        return None
    found = Given.of(given, origin).lists(_COLUMNS, Layout())
    return found if "model" in found else None


def _checked(
    columns: Mapping[str, list[Any]], origin: str
) -> tuple[list[str], list[tuple[float, int, int]]]:
    """Check a table of accuracies; return models, and accuracy, correct and all datapoints."""
    models = [checked_model_name(str(model)) for model in columns["model"]]
    if not models:
        raise InputError("no models", file=origin, field="model")
    if twice := [model for model in models if models.count(model) > 1]:
        raise InputError(f"model '{twice[0]}' occurs twice", file=origin, field="model")
    wanted = ("n_correct", "n") if "n_correct" in columns else ("accuracy",)
    missing = [one for one in wanted if one not in columns]
    if missing:
        raise InputError(
            f"column {missing[0]} missing; found {', '.join(columns)}", file=origin,
            remedy="Give 'n_correct' and 'n', or 'accuracy' and optionally 'n'",
        )  # fmt: skip
    for name, values in columns.items():
        if len(values) != len(models):
            message = f"{len(values)} values of {len(models)} models"
            raise InputError(message, file=origin, field=name)
    sizes = np.array(columns.get("n", [0] * len(models)))
    n = checked_integers(sizes, "n", _LARGEST, origin).tolist()
    if "n_correct" not in columns:
        return models, _rounded(columns["accuracy"], n, models, origin)
    correct = checked_integers(np.array(columns["n_correct"]), "n_correct", _LARGEST, origin)
    for model, right, size in zip(models, correct, n, strict=True):
        if size < 1 or right > size:
            raise InputError(
                f"{right} of {size} datapoints", file=f"{origin}, model '{model}'",
                field="n_correct", remedy="Give counts with 0 <= n_correct <= n and n > 0",
            )  # fmt: skip
    return models, [(k / size, k, size) for k, size in zip(correct.tolist(), n, strict=True)]


def _rounded(
    values: Sequence[object], n: Sequence[int], models: Sequence[str], origin: str
) -> list[tuple[float, int, int]]:
    """Return accuracies with the counts that their digits determine, where n is known."""
    numbers = [
        Decimal(repr(one) if isinstance(one, int | float) and not isinstance(one, bool) else "nan")
        for one in values
    ]
    exponents = [int(one.as_tuple().exponent) for one in numbers if one.is_finite()]
    return [
        counts_of(
            number, min(exponents, default=0), {"unit": "fraction", "n": size},
            {"file": f"{origin}, model '{model}'", "field": "accuracy"},
        )
        for number, size, model in zip(numbers, n, models, strict=True)
    ]  # fmt: skip


def _count_set(
    models: Sequence[GivenModel], origin: str, layout: Layout, n_classes: int | None, top: int
) -> tuple[list[int], Correctness]:
    """Return the hits of each model on one set, and which of its first guesses are right."""
    problems, names, found = ErrorCollector(), list[str](), list[_Counted]()
    for model in models:
        with problems.collected():
            one = _Counted.of(model.sets[origin], layout, n_classes, top)
            if found and not one.is_of(found[0]):
                raise InputError(
                    f"model '{model.name}' has other indices or labels than model '{names[0]}'",
                    file=model.sets[origin].place,
                )
            names.append(checked_model_name(model.name or UNNAMED))
            found.append(one)
    problems.raise_any()
    right = np.stack([one.right for one in found])
    correctness = Correctness(tuple(names), found[0].index, found[0].labels, right)
    return [one.hits for one in found], correctness


@dataclass(frozen=True, eq=False)
class _Counted:
    """One model on one set: which datapoints, whether each is right, and hits among the top k."""

    index: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    right: npt.NDArray[np.bool_]
    hits: int

    @classmethod
    def of(cls, given: Given, layout: Layout, n_classes: int | None, top: int) -> "_Counted":
        raw, file = given.raw(layout), given.place
        ranked = ranked_classes(raw, layout, top)
        known = (n_classes, ranked.n_classes, len(layout.classes or ()))
        largest = min(filter(None, known), default=MAX_CLASSES) - 1
        labels = checked_integers(labels_of(raw, layout), "label", largest, file)
        classes = ranked.classes
        if classes.ndim == 1:
            classes = checked_integers(classes, "prediction", largest, file)
        elif classes.dtype.kind not in "iu":
            raise InputError(f"has dtype {classes.dtype}", file=file, field="prediction")
        is_given = np.ndim(raw.columns.get("prediction", ())) > 1
        hits = count_hits(
            classes, labels, file=file, n_classes=n_classes, order_is_known=not is_given
        )
        if len(hits) < top:
            raise InputError(
                f"{len(hits)} predicted classes a row, fewer than top={top}", file=file,
                remedy="Give the scores of all classes, or that many predicted classes",
            )  # fmt: skip
        index = np.arange(len(labels), dtype=np.int64)
        if "index" in raw.columns:
            index = checked_integers(np.asarray(raw.columns["index"]), "index", _LARGEST, file)
            if len(np.unique(index)) < len(labels) or len(index) != len(labels):
                raise InputError(
                    "is not one position per datapoint", file=file, field="index",
                    remedy="Give each datapoint exactly one row",
                )  # fmt: skip
        order = np.argsort(index, kind="stable")
        right = (classes[:, 0] if classes.ndim > 1 else classes) == labels
        return cls(index[order], labels[order], right[order], hits[top - 1])

    def is_of(self, other: "_Counted") -> bool:
        """Whether both are on the same datapoints."""
        return np.array_equal(self.index, other.index) and np.array_equal(self.labels, other.labels)
