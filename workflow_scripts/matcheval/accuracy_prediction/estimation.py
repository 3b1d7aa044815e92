"""Predicted accuracies on single sets, with intervals: for files that are in no study.

Methods that predict an accuracy directly need a labelled base set only; all others need a
regression, which is fitted on further labelled sets of the same model.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.accuracy_prediction import predicting
from matcheval.accuracy_prediction.predicting import MIN_SETS
from matcheval.accuracy_prediction.scores import SCORES, confidence
from matcheval.accuracy_prediction.scores.outputs import Classes, Floats, Outputs
from matcheval.accuracy_prediction.scores.score import (
    Data,
    NotAvailableError,
    Noted,
    Predicts,
    Score,
    Sides,
    Sources,
    missing_inputs,
)
from matcheval.accuracy_prediction.scoring import METHOD
from matcheval.errors import InputError, check_known
from matcheval.io.tables import Column, TableSchema, fraction, text
from matcheval.io.terminal import tracked

DIRECT = ("ac", "ac_temperature", "doc_feat", "atc_mc", "atc_ne", "cot", "cott")
EXTRAPOLATED = "extrapolated: its score is outside those of the sets to calibrate on"
_PERCENTILES = (2.5, 97.5)
WHOLE = -1  # the number of the resample that is the data themselves
_SCALED = SCORES["ac_temperature"]
_BESIDE = "or <model>{} beside <model>.parquet"
_REMEDIES = {
    Data.PROBABILITIES: "probabilities of all classes: columns p_0, p_1, ..., or logits",
    Data.GRAM: "probabilities of all classes: columns p_0, p_1, ..., or logits",
    Data.LOGITS: f"logits: columns logit_0, logit_1, ... {_BESIDE.format('.logits.parquet')}",
    Data.FEATURES: "features: <model>.features.parquet beside <model>.parquet",
    Data.STATISTICS: "features: <model>.features.parquet or .statistics.npz beside <model>.parquet",
    Data.REFERENCE: "a reference set, which only a study can name",
    Data.IMAGES: "images, which only a study has",
    Data.MODELS: "predictions of several models, which only a study has",
}

ESTIMATES = TableSchema(
    "predicted accuracies",
    text("target", "name of the set"),
    *METHOD,
    text("title", "what readers call the method"),
    Column("n", pa.int64(), "datapoints", "of the set"),
    Column("n_base", pa.int64(), "datapoints", "of the base"),
    fraction("accuracy_base", "accuracy on the base"),
    Column("n_fitted", pa.int64(), "sets", "that a regression was fitted on; 0 for none"),
    fraction("predicted", "predicted accuracy, not clipped to [0, 1]; NaN if there is none"),
    fraction("predicted_low", "lower bound of its {level} interval over resamples; or NaN"),
    fraction("predicted_high", "upper bound"),
    *predicting.COLUMNS,
    fraction("accuracy", "true accuracy; NaN if the set has no labels"),
    fraction("error", "|predicted - accuracy|; NaN if either is unknown"),
    text("reason", "why there is no prediction, or how it is flagged"),
)


def choose_methods(names: Sequence[str] = (), *, calibrated: bool = False) -> list[Score]:
    """Return the named scores; by default direct ones, and regressed ones if `calibrated`."""
    check_known("method", names, SCORES, file=None, field=None)
    regressed = [
        score.name
        for score in SCORES.values()
        if calibrated and score.predicts is not Predicts.ACCURACY and not score.variant
    ]
    return [SCORES[name] for name in dict.fromkeys(names or (*DIRECT, *regressed))]


def estimate_accuracies(
    base: Outputs, targets: Iterable[tuple[str, Outputs]], *, methods: Sequence[Score],
    calibration: Sequence[Outputs] = (), groups: Sequence[str] = (),
    n_resamples: int = 200, seed: int = 0, progress: bool = False,
) -> pa.Table:  # fmt: skip
    """Predict a model's accuracy on targets, labelled or not, from outputs there and on a base.

    Base and sets to calibrate on are labelled. `groups` names the group of each set to calibrate
    on, such as its corruption, for intervals by groups; by default each is its own.
    """
    if len(groups) not in (0, len(calibration)):
        raise InputError(
            f"{len(groups)} groups of {len(calibration)} sets to calibrate on",
            field="calibration_groups", remedy="Name one per set",
        )  # fmt: skip
    if 0 < len(calibration) < MIN_SETS:
        raise InputError(
            f"{len(calibration)} sets to calibrate on",
            remedy=f"Give at least {MIN_SETS}, or none for methods that need no regression",
        )
    if (base.confidences == 1).all():
        raise InputError(
            "all confidences on the base are 1, and say nothing about accuracy",
            field="probability",
            remedy="Give the largest softmax value, not that of a one-hot code",
        )
    for number, outputs in enumerate(calibration, 1):
        _check_labels(base, outputs, f"set {number} to calibrate on")
    units = np.unique(groups or np.arange(len(calibration)), return_inverse=True)[1]
    estimator = _Estimator(base, calibration, units, methods, n_resamples, seed, progress)
    rows = [row for name, target in targets for row in estimator.rows(name, target)]
    return ESTIMATES.table({name: [row[name] for row in rows] for name in ESTIMATES.names})


def _check_labels(base: Outputs, other: Outputs, name: str) -> None:
    """Refuse labels that are no classes of the base, on which all predictions would be wrong."""
    if other.labels is None:
        return
    widths = [outputs.n_classes for outputs in (base, other) if outputs.n_classes]
    if widths:
        foreign = other.labels[other.labels >= min(widths)]
        classes = f"there are {min(widths)} classes"
    else:  # the number of classes is not known
        seen = (base.label_rows.ravel(), base.predicted, other.predicted)
        is_known = np.isin(other.labels, np.concatenate(seen)).any()
        foreign = other.labels[:0] if is_known else other.labels
        classes = "no label of it is a class of the base"
    if foreign.size:
        raise InputError(
            f"label {foreign.max()} of {name} is not of the base's label space: {classes}",
            field="label", remedy="Labels are positions in the base's label space, from 0",
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A method with the fitted state of its score, and the points (x, y) of its regression.

    `is_used` says on which sets to calibrate on the score is defined.
    """

    score: Score
    state: Any
    x: Floats
    y: Floats
    is_used: npt.NDArray[np.bool_]

    @classmethod
    def fit(cls, score: Score, base: Outputs, calibration: Sequence[Sides], seed: int) -> "_Fitted":
        """Fit a score to the base, and its regression to the sets to calibrate on."""
        state = score.fitted(Sources(base, seed=seed))
        if score.predicts is Predicts.ACCURACY:
            return cls(score, state, np.empty(0), np.empty(0), np.zeros(0, np.bool_))
        x, reason = np.full(len(calibration), np.nan), ""
        for i, sides in enumerate(calibration):
            try:
                x[i] = score.compute(state, sides)
            except NotAvailableError as error:
                reason = f": {error}"
        finite, y = np.isfinite(x), np.array([sides.target.accuracy for sides in calibration])
        if score.predicts is Predicts.GAP:
            y = base.accuracy - y
        if finite.sum() < MIN_SETS:
            raise NotAvailableError(
                f"its score is defined on {finite.sum()} sets to calibrate on{reason}"
            )
        return cls(score, state, x[finite], y[finite], finite)

    def score_on(self, sides: Sides) -> float:
        """Compute the score on a target; raise `NotAvailableError` if it is not finite."""
        value = self.score.compute(self.state, sides)
        if not np.isfinite(value):
            raise NotAvailableError("its score is not a finite number")
        return value

    def predict(self, value: float, sides: Sides) -> float:
        """Return the accuracy that a value of the score predicts."""
        if self.score.predicts is Predicts.ACCURACY:
            return value
        estimate = float(predicting.linear(self.x, self.y, np.array([value]))[0])
        return sides.base.accuracy - estimate if self.score.predicts is Predicts.GAP else estimate

    def intervals(self, value: float, units: Classes, base: Outputs) -> dict[str, Any]:
        """Return the jackknife+ intervals of the prediction; NaN without a regression."""
        if not len(self.x):
            return predicting.NO_ENDS
        accuracy = np.array([base.accuracy]) if self.score.predicts is Predicts.GAP else None
        units, new = units[self.is_used], np.array([value])
        columns = predicting.both_intervals(self.x, self.y, units, new, accuracy)
        return {name: np.asarray(values).item() for name, values in columns.items()}


class _Estimator:
    """Predicts accuracies by several methods, fitted once to the data and to each resample."""

    def __init__(
        self, base: Outputs, calibration: Sequence[Outputs], units: Classes,
        methods: Sequence[Score], n_resamples: int, seed: int, progress: bool,
    ) -> None:  # fmt: skip
        self._base, self._methods, self._units = base, methods, units
        self._n_resamples, self._seed, self._progress = n_resamples, seed, progress
        self._sides = [Sides(base, outputs, seed) for outputs in calibration]
        self._lean_base = _drop_unused(base, methods, is_base=True)
        self._lean_calibration = [_drop_unused(outputs, methods) for outputs in calibration]
        self._fitted: dict[tuple[str, int], _Fitted] = {}

    def rows(self, name: str, target: Outputs) -> Iterator[dict[str, Any]]:
        """Yield the predictions by all methods of the accuracy on a set, as rows of `ESTIMATES`."""
        _check_labels(self._base, target, f"'{name}'")
        sides = Sides(self._base, target, self._seed)  # one, for scores that share computations
        predictions = [(score, *self._predict(score, sides)) for score in self._methods]
        defined = [score for score, value, *_ in predictions if np.isfinite(value)]
        bounds = self._bootstrap_intervals(name, sides, defined)
        for score, predicted, reason, intervals in predictions:
            low, high = bounds.get(score.name, (np.nan, np.nan))
            fitted = self._fitted.get((score.name, WHOLE))
            yield {
                "target": name, "method": score.method, "variant": score.variant,
                "title": score.title, "n": len(target), "n_base": len(self._base),
                "accuracy_base": self._base.accuracy,
                "n_fitted": len(fitted.x) if fitted else 0,
                "predicted": predicted, "predicted_low": low, "predicted_high": high,
                **intervals,
                "accuracy": target.accuracy, "error": abs(predicted - target.accuracy),
                "reason": reason,
            }  # fmt: skip

    def _predict(self, score: Score, sides: Sides) -> tuple[float, str, dict[str, Any]]:
        """Return the predicted accuracy, a remark or a reason for NaN, and jackknife+ intervals."""
        others = [*(fitted.target for fitted in self._sides), sides.target]
        if missing := self._missing(score, self._base, others):
            return np.nan, missing, predicting.NO_ENDS
        try:
            fitted = self._fit(score, WHOLE, self._base, self._sides)
            value = fitted.score_on(sides)
        except NotAvailableError as error:
            return np.nan, str(error), predicting.NO_ENDS
        reason = value.note if isinstance(value, Noted) else ""
        if score.predicts is not Predicts.ACCURACY:
            is_outside = not fitted.x.min() <= value <= fitted.x.max()
            flag = EXTRAPOLATED * is_outside if predicting.varies(fitted.x) else predicting.FLAGGED
            reason = "; ".join(filter(None, (flag, reason)))
        intervals = fitted.intervals(value, self._units, self._base)
        return float(fitted.predict(value, sides)), reason, intervals

    def _missing(self, score: Score, base: Outputs, others: Sequence[Outputs]) -> str:
        """Return a text on what a method lacks; empty if nothing is missing."""
        of_study = [need for need in score.needs if need in (Data.IMAGES, Data.MODELS)]
        for outputs in others:
            if needs := [*of_study, *missing_inputs(score, Sources(base), outputs)]:
                return f"needs {_REMEDIES.get(needs[0], needs[0].value)}"
        if score.predicts is not Predicts.ACCURACY and not self._sides:
            return f"needs a regression: give at least {MIN_SETS} labelled sets to calibrate on"
        return ""

    def _fit(
        self, score: Score, resample: int, base: Outputs, calibration: Sequence[Sides]
    ) -> _Fitted:
        """Fit a method to a resample, or return its cached fit, which all targets share."""
        key = (score.name, resample)
        if key not in self._fitted:
            self._fitted[key] = _Fitted.fit(score, base, calibration, self._seed)
        return self._fitted[key]

    def _bootstrap_intervals(
        self, name: str, sides: Sides, methods: Sequence[Score]
    ) -> dict[str, tuple[float, float]]:
        """Return 95 % bootstrap bounds by method, for methods that can be computed on resamples."""
        stream, target = 1 + crc32(name.encode()), sides.target
        values = {
            score.name: self._predict_means(score, sides, stream)
            for score in methods
            if score.values
        }
        if _SCALED in methods and self._n_resamples:
            assert target.logits is not None
            values[_SCALED.name] = confidence.resampled_confidences(
                target.logits, self._resample_rows(target, stream), self._log_temperatures,
                progress=self._progress,
            )  # fmt: skip
        target = _drop_unused(target, self._methods)
        sets = [*self._lean_calibration, target]
        methods = [score for score in methods if not self._missing(score, self._lean_base, sets)]
        n = self._n_resamples if methods else 0
        values |= {score.name: np.full(n, np.nan) for score in methods}
        for b in tracked(range(n), "resamples", progress=self._progress):
            base = self._lean_base.rows(self._draw_rows(self._lean_base, b, 0))
            sides = Sides(base, target.rows(self._draw_rows(target, b, stream)), self._seed)
            # Drawn for the first target only: what was fitted is kept.
            is_new = any((score.name, b) not in self._fitted for score in methods)
            calibration = [
                Sides(base, outputs.rows(self._draw_rows(outputs, b, -1 - i)), self._seed)
                for i, outputs in enumerate(self._lean_calibration)
                if is_new
            ]
            for score in methods:
                with suppress(NotAvailableError):  # left out of the percentiles
                    fitted = self._fit(score, b, base, calibration)
                    values[score.name][b] = fitted.predict(fitted.score_on(sides), sides)
        return {
            name: tuple(np.nanpercentile(resampled, _PERCENTILES).tolist())
            for name, resampled in values.items()
            if np.isfinite(resampled).any()
        }

    def _predict_means(self, score: Score, sides: Sides, stream: int) -> Floats:
        """Predict accuracies from means of a score's values over resamples of the target."""
        assert score.values is not None
        whole = self._fitted[score.name, WHOLE]
        values, estimates = score.values(sides, whole.state), np.empty(self._n_resamples)
        for b, rows in enumerate(self._resample_rows(sides.target, stream)()):
            key = (score.name, b)
            if key not in self._fitted:
                self._fitted[key] = self._refit_line(whole, b)
            estimates[b] = self._fitted[key].predict(float(values[rows].mean()), sides)
        return estimates

    def _refit_line(self, whole: _Fitted, resample: int) -> _Fitted:
        """Fit the regression of a score with values to resamples of each set to calibrate on."""
        assert whole.score.values is not None
        points = []
        for i in np.flatnonzero(whole.is_used).tolist():  # none if the score needs no regression
            sides = self._sides[i]
            rows = self._draw_rows(sides.target, resample, -1 - i)
            values = sides.once(whole.score.values, whole.state)
            points.append((values[rows].mean(), sides.target.correct[rows].mean()))
        x, y = np.array(points).reshape(-1, 2).T
        return replace(whole, x=x, y=y)

    @cached_property
    def _log_temperatures(self) -> Floats:
        """Logarithms of the temperatures fitted to each resample of the base."""
        logits, labels = self._base.logits, self._base.labels
        assert logits is not None
        assert labels is not None
        near = float(np.log(self._fitted[_SCALED.name, WHOLE].state))
        draws = self._resample_rows(self._base, 0)
        temperatures = confidence.resampled_temperatures
        return temperatures(logits, labels, draws, near, progress=self._progress)

    def _resample_rows(self, outputs: Outputs, stream: int) -> confidence.Draws:
        """Return a function that draws the row numbers of every bootstrap resample."""
        return lambda: (self._draw_rows(outputs, b, stream) for b in range(self._n_resamples))

    def _draw_rows(self, outputs: Outputs, resample: int, stream: int) -> Classes:
        """Draw the row numbers of one bootstrap resample."""
        generator = np.random.default_rng([self._seed, resample, stream % (1 << 33)])
        return generator.integers(len(outputs), size=len(outputs))


def _drop_unused(outputs: Outputs, methods: Sequence[Score], *, is_base: bool = False) -> Outputs:
    """Drop features, logits, and other outputs that none of the methods uses on resamples."""
    needs = {need for score in methods for need in score.needs}
    lean = replace(outputs, features=None, statistics=None, logits=None)
    if not needs & {Data.PROBABILITIES, Data.GRAM}:
        return replace(lean, probabilities=None)
    if outputs.probabilities is not None:
        if is_base or Data.GRAM not in needs:  # all that is used of them are their entropies
            lean = replace(lean, probabilities=outputs.probabilities[:, :0])
        if Data.PROBABILITIES in needs:
            lean.__dict__["entropies"] = outputs.entropies
    return lean
