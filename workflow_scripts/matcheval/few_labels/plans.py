"""`matcheval.label_plan`: how many labels an interval needs, and which datapoints to label."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.errors import InputError, check_known
from matcheval.few_labels import inputs
from matcheval.few_labels.accuracy import ENOUGH, AccuracyEstimate
from matcheval.few_labels.differences import AccuracyDifference
from matcheval.few_labels.draws import DESIGNS, MIXED, N_STRATA, Draw, Plan, draw, make_strata
from matcheval.few_labels.estimators import bisect, effective_interval, finite_array
from matcheval.few_labels.inputs import SKIP
from matcheval.figures.forms import plot_intervals
from matcheval.io.delimited_text import escape_frame_formulas
from matcheval.io.files import atomic_file
from matcheval.io.text_tables import aligned, counted, level_text
from matcheval.predictions.inputs import Data, Shown, check_whole, is_number, warn_each
from matcheval.predictions.layout import class_names
from matcheval.statistics.intervals import FloatArray, check_level, normal_quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FILES = ("worklist.csv", "plan.json")
HALF_WIDTH = 0.05
_WITHOUT_ERRORS = 0.05  # variance that is planned with after a pilot without any


@dataclass(frozen=True)
class LabelNeeds:
    """How many labels a design needs for an interval of a given half-width.

    Attributes
    ----------
    design : str
    planned, cautious, worst : int
        If the confidences are calibrated; if they are of no use, and the accuracy somewhat lower;
        whatever the accuracy is.
    """

    design: str
    planned: int
    cautious: int
    worst: int


@dataclass(frozen=True, eq=False)
class LabelPlan(Shown):
    """How many labels are needed, and which datapoints to label; what `label_plan` returns.

    Attributes
    ----------
    names : tuple of str
        Of the models whose predictions were given.
    n : int
        Datapoints of the set.
    half_width : float
        Half the width that the interval is to have, a fraction.
    level : float
    needs : tuple of LabelNeeds
        Of each design: labels needed as planned from the confidences, cautiously, at worst.
    recommended : str
        The design with the fewest planned labels.
    design : str
        That the worklist is drawn by.
    seed : int
        Of the draw.
    n_labels : int
        Datapoints of the worklist, those of a pilot among them.
    n_done : int
        Of these, labelled in the pilot.
    n_needed : int
        Labels that were asked for, or are needed: of a pilot, from its estimate.
    warnings, notes : tuple of str
        What limits the plan; what was recognised.
    """

    names: tuple[str, ...]
    n: int
    half_width: float
    level: float
    needs: tuple[LabelNeeds, ...]
    recommended: str
    design: str
    seed: int
    n_labels: int
    n_done: int
    n_needed: int
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    _draw: Draw = field(repr=False)
    _sets: tuple[inputs.UnlabelledSet, ...] = field(repr=False)
    _labels: inputs.Labels | None = field(repr=False)

    def to_pandas(self, table: str = "needs", *, all: bool = False) -> pd.DataFrame:
        """Return the numbers of labels needed, or the worklist, as a table.

        Parameters
        ----------
        table : str
            `needs`: columns `design`, `planned`, `cautious`, `worst`, numbers of labels;
            `worklist`: columns `order` (from 0), `index` (row of the predictions), `file`, `label`
            and `status`, which are empty but for the labels of a pilot.
        all : bool
            Also predictions and confidences in the worklist, which may bias who labels.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        InputError
            If there is no such table.
        """
        check_known("table", [table], ("needs", "worklist"))
        if table == "needs":
            return pd.DataFrame([vars(need) for need in self.needs])
        return self._worklist(show_predictions=all)

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the number of labels that each design needs, as planned and at worst.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; by default those of a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            That of the axes; a new one is not known to pyplot.
        """
        rows = [(need.design, need.planned, need.planned, need.worst) for need in self.needs]
        return plot_intervals(rows, "Labels, as planned and up to the worst case", ax=ax)

    def save(
        self, folder: "str | os.PathLike[str]", *, show_predictions: bool = False
    ) -> list[Path]:
        """Write `worklist.csv` and `plan.json`.

        Parameters
        ----------
        folder : path-like
            Is made; may not hold a worklist yet, as labels may be in it.
        show_predictions : bool
            Also write predicted classes and confidences, which may bias the person who labels.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        InputError
            If there is a worklist, or a file cannot be written.
        """
        files = [Path(folder) / name for name in FILES]
        if files[0].exists():
            remedy = "Give another folder"
            raise InputError("is there, and may hold labels", file=files[0], remedy=remedy)
        with atomic_file(files[0]) as partial:
            table = self._worklist(show_predictions=show_predictions)
            escape_frame_formulas(table).to_csv(partial, index=False)
        digest = inputs.plan_digest(self._sets, self.design)
        plan = Plan(self._draw, digest, self._sets[0].temperature, self.n_done)
        plan.save(files[1], n=self.n, level=self.level, half_width=self.half_width)
        return files

    def _worklist(self, *, show_predictions: bool) -> pd.DataFrame:
        rows, predictions = self._draw.rows, self._sets[0].predictions
        labels = {} if self._labels is None else self._labels.by_row
        texts = {} if self._labels is None else self._labels.texts
        status = dict.fromkeys(labels, "done") | {k: "skip" for k, v in labels.items() if v == SKIP}
        keys = predictions.keys
        table = pd.DataFrame({
            "order": np.arange(len(rows)), "index": predictions.index[rows].astype(np.int64),
            "file": "" if keys is None else keys[rows].astype(str),
            "label": [texts.get(row, "") for row in rows.tolist()],
            "status": [status.get(row, "") for row in rows.tolist()],
        })  # fmt: skip
        for k, model in enumerate(self._sets if show_predictions else (), 1):
            end = f"_{k}" if len(self._sets) > 1 else ""
            table[f"prediction{end}"] = class_names(
                model.layout, model.predictions.prediction[rows]
            )
            table[f"confidence{end}"] = [round(f, 6) for f in model.f[rows].tolist()]
        return table

    def __str__(self) -> str:
        """Return the text that `matched-eval label-plan` prints."""
        interval = f"± {100 * self.half_width:g} points at {level_text(self.level)}"
        what, cautious = "accuracy", "they are of no use"
        if len(self.names) > 1:
            what = f"difference {self.names[0]} minus {self.names[1]}"
            cautious = "one is always right where they differ"
        rows = [("design", "planned", "cautious", "worst case")]
        rows += [
            (need.design, f"{need.planned:,}", f"{need.cautious:,}", f"{need.worst:,}")
            for need in self.needs
        ]
        done = f", {self.n_done:,} of them labelled" if self.n_done else ""
        return "\n".join([
            f"labels needed for the {what} {interval}, of {self.n:,} datapoints", "",
            *aligned(rows), "",
            f"planned: if confidences are calibrated; cautious: if {cautious}.",
            f"recommended: {self.recommended}. The worklist has {self.n_labels:,} datapoints{done} "
            f"({self.design}, seed {self.seed}).",
            *([f"After the pilot, {self.n_needed:,} labels are needed."] if self.n_done else []),
            "",
        ])  # fmt: skip


def label_plan(
    predictions: Data,
    second: "Data | None" = None,
    *,
    half_width: float | None = None,
    n: int | None = None,
    design: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    pilot: AccuracyEstimate | AccuracyDifference | None = None,
    base: "Data | None" = None,
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
) -> LabelPlan:
    """Plan how many labels an interval needs, and draw the datapoints to label.

    Parameters
    ----------
    predictions : path-like, table or mapping of arrays
        Predictions on all datapoints of the set, as for `compare`; labels are not needed.
    second : optional
        Those of another model on the same datapoints: plans labels for the difference.
    half_width : float, optional
        Half the width that the interval is to have, a fraction; by default ± 5 points.
    n : int, optional
        Number of labels, in place of the planned one, which is 50 at least.
    design : str, optional
        `random`, `mixed` (strata by confidence) or, with two models, `disagreement`; by default the
        recommended one.
    level : float
        Of the interval, in (0, 1).
    seed : int
        Of the draw.
    pilot : AccuracyEstimate or AccuracyDifference, optional
        Estimated from the labels so far by their plan, which is extended: design and seed are its.
    base : path-like, table or mapping of arrays, optional
        The model's predictions on a labelled set, with scores of all classes: calibrates the
        confidences (temperature scaling).
    columns, classes, first_label
        As for `compare`.

    Returns
    -------
    LabelPlan

    Raises
    ------
    InputError
        If the predictions are those of another plan than the pilot's, or an argument is out of
        range.

    Warns
    -----
    InputWarning
        For limits of the design.

    Examples
    --------
    >>> import matcheval as me
    >>> sure = [0.5 + 0.001 * i for i in range(500)]
    >>> plan = me.label_plan({"prediction": [0, 1] * 250, "probability": sure}, half_width=0.05)
    >>> plan.to_pandas()["planned"].tolist(), plan.design
    ([177, 172], 'mixed')
    """
    target = HALF_WIDTH if half_width is None else half_width
    if not is_number(target) or not 0 < target < 0.5:
        problem = f"half_width is {target!r:.40}"
        raise InputError(problem, remedy="Give a fraction below 0.5, such as 0.03 for ± 3 points")
    check_level(level)
    check_whole("seed", seed, 0)
    earlier = None if pilot is None else pilot._plan
    if pilot is not None and earlier is None:
        remedy = "Estimate it with the plan that drew its labels"
        raise InputError("was not drawn by a plan", field="pilot", remedy=remedy)
    if base is not None and second is not None:
        problem = "calibrates one model, and there are two"
        raise InputError(problem, field="base", remedy="Leave it out")
    models = {"predictions": predictions, "second": second}
    sets = inputs.read_unlabelled_sets(models, columns, classes, first_label, earlier, base)
    f, size, differs = sets[0].f, len(sets[0].f), None
    if len(sets) > 1:
        differs = sets[0].predictions.prediction != sets[1].predictions.prediction
        needs = [needs_of_difference(f, sets[1].f, differs, target, level)]
    else:
        needs = needs_of_designs(f, target, level)
    recommended = min(needs, key=lambda need: need.planned).design
    if earlier is not None:
        if design not in (None, earlier.draw.design):
            problem = f"is '{design}', but the pilot was drawn by '{earlier.draw.design}'"
            raise InputError(problem, field="design", remedy="Leave it out")
        design, seed = earlier.draw.design, earlier.draw.seed
        earlier.check(inputs.plan_digest(sets, design))
    design = recommended if design is None else design
    check_known("design", [design], DESIGNS)
    if (design == "disagreement") != (differs is not None) and design != "random":
        remedy = "Two models need disagreement or random, one random or mixed"
        problem = f"'{design}' is not for {counted(len(sets), 'model')}"
        raise InputError(problem, field="design", remedy=remedy)
    frame = size if differs is None or design == "random" else int(differs.sum())
    if n is None:
        n = _n_labels_to_draw(design, needs, pilot, target, level, frame, size)
    check_whole("n", n, 1 if frame else 0, size)
    drawn = draw(design, f, n, seed, differs, None if earlier is None else earlier.draw)
    labels = None if pilot is None else pilot._labels
    labelled = () if labels is None else labels.by_row
    warnings = []
    if differs is not None and not differs.any():
        warnings.append("both models predict the same classes: the difference is 0")
    if sets[0].predictions.groups is not None:
        warnings.append("datapoints come in groups: labels give the accuracy on this set only")
    warn_each(warnings)
    return LabelPlan(
        names=tuple(model.name for model in sets), n=size, half_width=target, level=level,
        needs=tuple(needs), recommended=recommended, design=design, seed=seed,
        n_labels=len(drawn.rows), n_done=int(np.isin(drawn.rows, [*labelled]).sum()), n_needed=n,
        warnings=tuple(warnings),
        notes=tuple(dict.fromkeys(text for model in sets for text in model.notes)),
        _draw=drawn, _sets=tuple(sets), _labels=labels,
    )  # fmt: skip


def _n_labels_to_draw(
    design: str, needs: Sequence[LabelNeeds], pilot: AccuracyEstimate | AccuracyDifference | None,
    half_width: float, level: float, frame: int, size: int,
) -> int:  # fmt: skip
    """Return how many datapoints the worklist gets, including those of a pilot."""
    if pilot is None or pilot._pilot is None:
        planned = [need.planned for need in needs if need.design == design]
        return min(max([*planned, ENOUGH]), frame)
    estimate, n = pilot._pilot, pilot.n_labelled
    if design == "disagreement":
        share = frame / size
        variance = variance_after_pilot((estimate.se / share) ** 2, n, frame)
        needed = labels_for_variance(variance, half_width / share, level, frame)
    else:
        variance = variance_after_pilot(estimate.se**2, n, size)
        needed = labels_needed(variance, estimate.estimate, half_width, size, level)
    return min(max(needed, n), frame)


@dataclass(frozen=True)
class Variances:
    """Variances per label of two designs that use the confidences, if these are calibrated."""

    control: float
    mixed_control: float


def plan_variances(f: npt.ArrayLike, n_strata: int = N_STRATA) -> Variances:
    """Predict the variance per label of random and of mixed labels from calibrated confidences."""
    f = finite_array("f", f)
    stratum = make_strata(f, n_strata)
    size = np.bincount(stratum)
    weight, mean = size / len(f), np.bincount(stratum, f) / size
    inside = np.bincount(stratum, f * (1 - f)) / size
    root = np.sqrt(mean * (1 - mean))
    average = float((weight * root).sum())
    share = (1 - MIXED) * root / average + MIXED if average > 0 else np.ones(len(size))
    return Variances(float((f * (1 - f)).mean()), float((weight * inside / share).sum()))


def needs_of_designs(f: npt.ArrayLike, half_width: float, level: float) -> list[LabelNeeds]:
    """Compute how many labels the designs `random` and `mixed` need to measure one accuracy."""
    f = finite_array("f", f)
    mean, variances = float(f.mean()), plan_variances(f)

    def needed(variance: float, at: float) -> int:
        return labels_needed(variance, at, half_width, len(f), level)

    # Without a gain from confidences, the variance is that of an accuracy.
    low = 0.25 * min(1.0, 4 * mean * (1 - mean) + 0.2)
    cautious = needed(low, 0.5 + float(np.sqrt(max(0.25 - low, 0))))
    worst = needed(0.25, 0.5)
    planned = {"random": variances.control, "mixed": variances.mixed_control}
    return [LabelNeeds(k, needed(v, mean), cautious, worst) for k, v in planned.items()]


def needs_of_difference(
    f: FloatArray, f_second: FloatArray, differs: npt.NDArray[np.bool_], half_width: float,
    level: float,
) -> LabelNeeds:  # fmt: skip
    """Compute how many labels a difference needs, among rows where two models disagree.

    The cautious number assumes that one of the two models is right on each of these rows.

    Where both are calibrated, the first is right with its confidence, and the second with its own.
    """
    n_differ, size = int(differs.sum()), len(f)
    if not n_differ:
        return LabelNeeds("disagreement", 0, 0, 0)
    first_f, second_f = f[differs], f_second[differs]
    spread = np.minimum(first_f + second_f, 1.0)
    difference = float((first_f - second_f).mean())

    def needed(square: float, mean: float) -> int:
        target = half_width * size / n_differ
        n = labels_for_variance(max(square - mean**2, 0.0), target, level, n_differ)
        return min(max(2, n), n_differ)

    planned = needed(max(float(spread.mean()), difference**2), difference)
    return LabelNeeds("disagreement", planned, needed(1.0, difference), needed(1.0, 0.0))


def labels_needed(
    variance: float, mean: float, half_width: float, N: int, level: float = 0.95  # noqa: N803
) -> int:  # fmt: skip
    """Return the fewest of N labels, at least 2, for which `effective_interval` is narrow enough.

    The variance is per label, the mean the expected accuracy; all N labels are always enough.
    """

    def is_enough(n: int) -> bool:
        interval = effective_interval(mean, (1 - n / N) * variance / n, n, level)
        return interval.half_width <= half_width

    return bisect(min(2, N), N, is_enough)


def labels_for_variance(
    variance: float, half_width: float, level: float = 0.95, N: int | None = None  # noqa: N803
) -> int:  # fmt: skip
    """Return how many labels a normal interval of this half-width needs, given their variance."""
    infinite = normal_quantile(level) ** 2 * variance / half_width**2
    return int(np.ceil(infinite if N is None else infinite / (1 + infinite / N)))


def pilot_variance_upper(variance: float, n: int, confidence: float = 0.8) -> float:
    """Return an upper confidence bound of the variance per label, from a pilot of n labels."""
    from scipy.stats import chi2

    return float(variance * (n - 1) / chi2.ppf(1 - confidence, n - 1))


def variance_after_pilot(variance: float, n: int, N: int) -> float:  # noqa: N803
    """Return an upper bound of the variance per label, from the variance of a pilot's estimate."""
    if variance <= 0 or n >= N:
        return _WITHOUT_ERRORS
    return pilot_variance_upper(n * variance / (1 - n / N), n)
