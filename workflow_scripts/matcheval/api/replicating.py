"""`matcheval.replication_table`: accuracies of many models on two sets, ranks and fits."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.api import pairs
from matcheval.datasets.suites import Pair
from matcheval.errors import ErrorCollector, InputError, check_known
from matcheval.io.text_tables import counted, level_text
from matcheval.names import MODEL, ORIGINS, Origin
from matcheval.predictions import correctness, inputs
from matcheval.predictions.correctness import Accuracy, Correctness
from matcheval.predictions.datapoints import Alignment
from matcheval.predictions.files import read_raw, with_keys
from matcheval.predictions.formats import InMemory, read_lists
from matcheval.predictions.inputs import Models, Shown
from matcheval.predictions.layout import Layout
from matcheval.predictions.recognition import RawFile
from matcheval.predictions.records import Predictions, check_predictions, checked_integers
from matcheval.predictions.scores import find_scores, read_values
from matcheval.replication.fits import Fit, ReplicationSettings, fit_replication
from matcheval.replication.tables import FITS, REGION, summarize_changes, tabulate_replication
from matcheval.statistics.intervals import check_level
from matcheval.statistics.lines import MIN_MODELS, RESAMPLES, Scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = Literal["results", "fits", "changes"]
_TABLES: tuple[Table, ...] = ("results", "fits", "changes")
_COLUMNS = ("model", "accuracy", "n_correct", "n")
_FEW = (
    "original_rank", "model", "accuracy_original", "accuracy_replication", "gap", "gap_low",
    "gap_high", "replication_rank",
)  # fmt: skip
_LARGEST = int(np.iinfo(np.int32).max)


@dataclass(frozen=True)
class ReplicationFit(Shown):
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

    def __str__(self) -> str:
        """Return the fitted line as text: slope and offset with their intervals, and R²."""
        unit = " points" if self.scale == "linear" else ""
        return (
            f"{self.scale} fit: slope {self.slope:.2f} [{self.slope_low:.2f}, "
            f"{self.slope_high:.2f}], offset {self.offset:.2f} [{self.offset_low:.2f}, "
            f"{self.offset_high:.2f}]{unit}, R² {self.r_squared:.3f}"
        )


@dataclass(frozen=True, eq=False)
class ReplicationResult(Shown):
    """Accuracies of models on two sets, ranks and fits; what `replication_table` returns.

    `print(result)` shows the mean change, the correlations of ranks and the fitted lines.

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

    def __str__(self) -> str:
        """Return a line of text on the accuracies, one on the ranks, and one per fit."""
        what = "accuracy" if self.top == 1 else f"top-{self.top} accuracy"
        lines = [
            f"{counted(len(self.models), 'model')} on {self.replication} after {self.original}: "
            f"mean {what} changes by {100 * self.change:+.2f} points",
            f"ranks: Spearman's ρ {self.spearman:.3f}, Kendall's τ {self.kendall:.3f}",
        ]
        level = level_text(self.confidence)
        return "\n".join([*lines, *(f"{fit} ({level} intervals)" for fit in self.fits.values())])

    def to_pandas(self, table: Table = "results", *, all: bool = False) -> pd.DataFrame:
        """Return one of the result tables; accuracies and gaps are fractions.

        Parameters
        ----------
        table : str
            `results`: accuracies, gaps with intervals and ranks, a row per model; `fits`: a row per
            scale; `changes`: one row of means over models.
        all : bool
            All columns of `results`, those of `matcheval.replication.tables.RESULTS`.

        Returns
        -------
        pandas.DataFrame
            A new table. `results` has `original_rank`, `model`, `accuracy_original`,
            `accuracy_replication`, `gap` with `gap_low` and `gap_high`, and `replication_rank`; the
            others the columns of `FITS` and `CHANGES` of the same module.
        """
        check_known("table", [table], _TABLES)
        return inputs.columns_of(self._tables[table], _FEW, every=all or table != "results")

    def plot(self, scale: str = "linear") -> "Figure":
        """Draw new against original accuracies, with the fitted line and its confidence region.

        Parameters
        ----------
        scale : str
            `linear` or `probit`, one of `fits`.
        """
        from matcheval.replication.figures import plot_replication

        if scale not in self.fits:
            reasons = f" ({'; '.join(self.warnings)})" if self.warnings else ""
            remedy = f"There are {', '.join(self.fits) or 'none'}{reasons}"
            raise InputError(f"no fit on the scale {scale!r:.40}", remedy=remedy)
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
    >>> result = me.replication_table(old, new, resamples=1000)
    >>> round(result.change, 4), round(result.fits["linear"].slope, 2)
    (-0.1133, 1.33)
    """
    inputs.check_whole("top", top, 1)
    inputs.check_whole("resamples", resamples, 1)
    check_level(confidence)
    pairs.check_names(names)
    pair = Pair("pair", *names, None, bool(paired))
    warnings: list[str] = []
    if tables := _accuracy_tables(original, replication):
        if paired:
            raise InputError("paired images need predictions, not accuracies", field="paired")
        rows = [_accuracies_of_table(table, origin, int(top)) for origin, table in tables.items()]
        images = list[Correctness]()
    else:
        models, warnings = pairs.inputs_by_model(original, replication)
        layout = inputs.layout_of(pairs.all_sources(models), columns, classes, first_label)
        sets = [_accuracies_on_set(models, origin, layout, int(top)) for origin in ORIGINS]
        rows, images = [list(part) for part in zip(*sets, strict=True)]
    old, new = map(correctness.accuracy_table, names, rows)
    paired_images = tuple(images) if paired else ()
    results = tabulate_replication(old, new, pair, int(top), float(confidence), paired_images)
    fits, no_fits = _fit_lines(results, int(resamples))
    changes = summarize_changes([results])
    warnings += no_fits
    inputs.warn_each(warnings)
    fit_rows = [fit.row for fit in fits]
    fit_table = pd.DataFrame(fit_rows, columns=FITS.names)
    return ReplicationResult(
        original=pair.original, replication=pair.replication, models=tuple(results["model"]),
        top=int(top), confidence=float(confidence),
        **{name: float(changes[name].iloc[0]) for name in ("change", "spearman", "kendall")},
        fits={
            row["scale"]: ReplicationFit(**{f.name: row[f.name] for f in fields(ReplicationFit)})
            for row in fit_rows
        },
        warnings=tuple(warnings),
        _tables={"results": results, "fits": fit_table, "changes": changes},
        _region=pd.concat([fit.region for fit in fits] or [pd.DataFrame(columns=REGION.names)]),
    )  # fmt: skip


def _fit_lines(results: pd.DataFrame, resamples: int) -> tuple[list[Fit], list[str]]:
    """Fit a line on every scale; also return the reasons why some cannot be fitted."""
    settings = ReplicationSettings(resamples=resamples)
    if len(results) < MIN_MODELS:
        return [], [f"no fits: a line needs at least {MIN_MODELS} models, not {len(results)}"]
    fits, reasons = [], []
    for scale in settings.scales:
        try:
            fits.append(fit_replication(results, scale, settings))
        except InputError as error:
            reasons.append(f"no fit on the {scale.value} scale: {error}")
    return fits, reasons


def _accuracy_tables(original: Models, replication: Models) -> dict[str, dict[str, list[Any]]]:
    """Return the columns of tables of accuracies, by origin; empty if predictions are given."""
    tables = {}
    for origin, data in (("original", original), ("replication", replication)):
        is_pattern = isinstance(data, str | os.PathLike) and MODEL in os.fspath(data)
        if not is_pattern and not inputs.holds_several(data):
            columns = read_lists(inputs.source_of(data, origin), _COLUMNS)
            if "model" in columns:
                tables[origin] = columns
    if len(tables) == 1:
        raise InputError("one set has accuracies, the other predictions", remedy="Give both alike")
    return tables


def _accuracies_of_table(columns: Mapping[str, list[Any]], origin: str, top: int) -> list[Accuracy]:
    """Check the columns of a table of accuracies, and return the accuracy of each model."""
    wrong = partial(InputError, file=origin)
    models = [pairs.checked_model_name(str(model)) for model in columns["model"]]
    if not models:
        raise wrong("no models", field="model")
    if twice := [model for model in models if models.count(model) > 1]:
        raise wrong(f"model '{twice[0]}' occurs twice", field="model")
    name, unit = ("n_correct", "correct") if "n_correct" in columns else ("accuracy", "fraction")
    if name not in columns or (unit == "correct" and "n" not in columns):
        raise wrong(
            f"column {'n' if name in columns else name} missing; found {', '.join(columns)}",
            remedy="Give 'n_correct' and 'n', or 'accuracy' and optionally 'n'",
        )
    for column, values in columns.items():
        if len(values) != len(models):
            raise wrong(f"{len(values)} values of {len(models)} models", field=column)
    sizes = np.array(columns.get("n", [0] * len(models)))
    n = checked_integers(sizes, "n", _LARGEST, origin).tolist()
    if unit == "correct" and 0 in n:
        raise wrong("a set of 0 datapoints", field="n")
    # What is no number is told as NaN.
    numbers = [Decimal(repr(x) if inputs.is_number(x) else "nan") for x in columns[name]]
    last, rows = correctness.last_digit_exponent(numbers), []
    for model, number, size in zip(models, numbers, n, strict=True):
        place = {"file": f"{origin}, model '{model}'", "field": name}
        counts = correctness.find_counts(number, last, {"unit": unit, "n": size}, place)
        rows.append(Accuracy(model, top, *counts))
    return rows


def _accuracies_on_set(
    models: Sequence[pairs.ModelInputs], origin: Origin, layout: Layout, top: int
) -> tuple[list[Accuracy], Correctness]:
    """Read models' predictions on a set; return accuracies, and which first guesses are right."""
    problems, rows, read = ErrorCollector(), list[Accuracy](), list[Predictions]()
    alignment = Alignment()
    for model in models:
        with problems.collected():
            source = model.sets[origin]
            predictions, hits = _read_guesses(source, layout, top)
            predictions = alignment.place(predictions, source)
            if read and predictions.datapoints_digest != read[0].datapoints_digest:
                problem = f"model '{model.name}' has other indices or labels than model"
                raise InputError(f"{problem} '{rows[0].model}'", file=source)
            name, n = pairs.checked_model_name(model.name or pairs.UNNAMED), len(predictions)
            rows.append(Accuracy(name, top, hits / n, hits, n))
            read.append(predictions)
    problems.raise_any()
    index, labels = (part.astype(np.int64) for part in (read[0].index, read[0].label))
    right = np.stack([predictions.correct for predictions in read])
    return rows, Correctness(tuple(row.model for row in rows), index, labels, right)


def _read_guesses(source: Path | InMemory, layout: Layout, top: int) -> tuple[Predictions, int]:
    """Read a model's guesses; also count the rows whose label is among the `top` first ones."""
    raw, wrong = read_raw(source, layout), partial(InputError, file=source)
    ranked, n_scores = _ranked_classes(raw, top)
    if "label" not in raw.columns:
        remedy = f"If it has another name, say which: {layout.say('columns', label='target')}"
        raise wrong(f"column label missing; found {raw.shown}", remedy=remedy)
    if ranked.ndim > 1 and ranked.dtype.kind not in "iu":
        raise wrong(f"has dtype {ranked.dtype}", field="prediction")
    columns = {name: read_values(raw, name) for name in ("index", "label") if name in raw.columns}
    columns["prediction"] = ranked[:, 0] if ranked.ndim > 1 else ranked
    columns["probability"] = np.ones(len(ranked))  # which nothing depends on
    counts = filter(None, (layout.n_classes, n_scores, len(layout.classes or ())))
    predictions = check_predictions(columns, file=source, n_classes=min(counts, default=None))
    predictions = with_keys(predictions, columns, raw)
    is_given = "prediction" in raw.columns and raw.columns["prediction"].values.ndim > 1
    hits = correctness.count_hits(
        ranked.astype(np.int64), columns["label"].astype(np.int64), file=source,
        n_classes=layout.n_classes, order_is_known=not is_given,
    )  # fmt: skip
    if len(hits) < top:
        raise wrong(
            f"{len(hits)} predicted classes a row, fewer than top={top}",
            remedy="Give the scores of all classes, or that many predicted classes",
        )
    return predictions, hits[top - 1]


def _ranked_classes(raw: RawFile, top: int) -> tuple[npt.NDArray[Any], int | None]:
    """Return predicted classes, most probable first, and how many classes have scores, if any."""
    guesses = read_values(raw, "prediction") if "prediction" in raw.columns else None
    scores = find_scores(raw) if guesses is None or (top > 1 and guesses.ndim == 1) else None
    if scores is not None:
        ranked = np.argsort(-scores.values, axis=1, kind="stable")[:, :top]
        return ranked, scores.values.shape[1]
    if guesses is None:
        problem = f"predicted classes missing; found {raw.shown}"
        remedy = "Give 'prediction', or the scores of all classes"
        raise InputError(problem, file=raw.file, remedy=remedy)
    return guesses, None
