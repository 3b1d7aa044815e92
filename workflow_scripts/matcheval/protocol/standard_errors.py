"""Standard errors of the matched gap: how far the sampling of the test sets could move it.

They are errors of the gap given the confidences and the picks. The standard deviation over seeds,
which holds the random picks only, is no standard error of it. Samples are never matched again:
repeated datapoints would bias the matched gap and the share of unmatched targets (Abadie & Imbens
2008, Econometrica 76).

References
----------
One run: Abadie & Spiess (2022), Journal of the American Statistical Association 117. The mean over
runs weights every datapoint by how often it was matched, and takes what its correctness deviates
from an isotonic fit on its confidence.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.protocol.comparisons import Blocks
from matcheval.protocol.decomposition import Floats, Scored
from matcheval.protocol.matching import UNMATCHED, MatchedRows
from matcheval.statistics.intervals import LEVEL, normal_factor


def pick_weights(rows: MatchedRows, n_source: int) -> tuple[Floats, Floats]:
    """Return every datapoint's weight in the matched accuracy of its set, a mean over seeds."""
    source = np.zeros(n_source)
    target = np.zeros(len(next(iter(rows.values()))))
    n_seeds = 0
    for row in rows.values():
        is_matched = row != UNMATCHED
        n_matched = int(is_matched.sum())
        if n_matched:
            source[row[is_matched]] += 1 / n_matched
            target[is_matched] += 1 / n_matched
            n_seeds += 1
    return source / max(n_seeds, 1), target / max(n_seeds, 1)


def isotonic_accuracy(scored: Scored) -> Floats:
    """Estimate accuracy at every datapoint's confidence by isotonic regression of correctness.

    Points of equal confidence are pooled; confidences are compared in float64.
    """
    from matcheval.protocol.kernel import isotonic_fit

    p = scored.confidence[scored.order].astype(np.float64)
    starts = np.flatnonzero(np.append(True, p[1:] != p[:-1]))
    counts = np.diff(starts, append=len(p))
    means = np.add.reduceat(scored.correct[scored.order].astype(np.float64), starts) / counts
    fitted = np.empty(len(p))
    fitted[scored.order] = np.repeat(isotonic_fit(means, counts.astype(np.float64)), counts)
    return fitted


@dataclass(frozen=True, eq=False)
class ErrorTerms:
    """Contribution of each datapoint to the sampling error of a mean matched gap (source - target).

    Weight of the datapoint times the residual of its correctness from the isotonic fit; for
    targets, the negative of that.
    """

    source: Floats
    target: Floats


def error_terms(
    source: Scored,
    target: Scored,
    rows: MatchedRows,
    accuracies: tuple[Floats, Floats] | None = None,
) -> ErrorTerms:
    """Compute each datapoint's contribution to the sampling error of a model's matched gap.

    `accuracies` are the `isotonic_accuracy` of both sides, if they are known.
    """
    source_weights, target_weights = pick_weights(rows, len(source))
    fits = accuracies or (isotonic_accuracy(source), isotonic_accuracy(target))
    return ErrorTerms(
        source_weights * (source.correct - fits[0]), -target_weights * (target.correct - fits[1])
    )


def confidence_terms(source: Scored, target: Scored) -> ErrorTerms:
    """Compute each datapoint's contribution to the sampling error of the fall of confidence."""
    p, q = (side.confidence.astype(np.float64) for side in (source, target))
    return ErrorTerms(_terms_of_mean(p), -_terms_of_mean(q))


def calibration_terms(source: Scored, target: Scored) -> ErrorTerms:
    """Compute each datapoint's contribution to the sampling error of its set's overconfidence."""
    excesses = [side.confidence.astype(np.float64) - side.correct for side in (source, target)]
    return ErrorTerms(*map(_terms_of_mean, excesses))


def _terms_of_mean(values: Floats) -> Floats:
    """Compute each value's contribution to the sampling error of their mean."""
    return (values - values.mean()) / len(values)


class TermsTotal:
    """Adds up error terms model by model, as those of many models together are large."""

    def __init__(self) -> None:
        self._n, self._source, self._target = 0, np.zeros(1), np.zeros(1)

    def add(self, terms: ErrorTerms) -> None:
        """Add the terms of a model."""
        self._n += 1
        self._source, self._target = self._source + terms.source, self._target + terms.target

    @property
    def mean(self) -> ErrorTerms:
        """Error terms of the mean over the models that were added."""
        n = max(self._n, 1)
        return ErrorTerms(self._source / n, self._target / n)


def standard_error(terms: ErrorTerms, blocks: Blocks | None = None) -> float:
    """Compute the standard error of the sum of all terms, block by block if there are blocks."""
    if blocks is None:
        return float(np.sqrt((terms.source**2).sum() + (terms.target**2).sum()))
    if blocks.grouped and blocks.n < 2:
        return float("nan")
    source = np.bincount(blocks.source, terms.source, blocks.n_source)
    target = np.bincount(blocks.target, terms.target, blocks.n_target)
    sides = [source + target] if blocks.joint else [source, target]
    factors = [len(side) / (len(side) - 1) if blocks.grouped else 1.0 for side in sides]
    return float(np.sqrt(sum(f * (s**2).sum() for f, s in zip(factors, sides, strict=True))))


def one_run_error(
    correct_source: npt.NDArray[np.bool_],
    correct_target: npt.NDArray[np.bool_],
    rows: npt.NDArray[np.int64],
) -> float:
    """Return the standard error of one run's matched gap from the differences of its pairs."""
    is_matched = rows != UNMATCHED
    difference = correct_source[rows[is_matched]].astype(np.float64) - correct_target[is_matched]
    if len(difference) < 2:
        return float("nan")
    return float(difference.std(ddof=1) / np.sqrt(len(difference)))


def error_interval(
    value: float, error: float, blocks: Blocks | None = None, level: float = LEVEL
) -> tuple[float, float]:
    """Return an estimate's interval: normal, or by Student's t where there are groups."""
    factor = normal_factor(level)
    if blocks is not None and blocks.grouped:
        from scipy.special import stdtrit

        factor = float(stdtrit(blocks.n - 1, (1 + level) / 2)) if blocks.n > 1 else float("nan")
    half = factor * error
    return value - half, value + half
