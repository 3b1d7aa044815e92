"""Fits to all models but one: how far each model is from what the others say, with intervals.

Taori et al. (2020), arXiv 2007.00644, section 2; Shi et al. (2023), arXiv 2302.01381.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.io.text_tables import counted
from matcheval.statistics.intervals import FloatArray
from matcheval.statistics.lines import Scale, from_scale, percentile_interval, to_scale

_UNDETERMINED = 1e-9  # part of the largest eigenvalue, or of 1, below which there is no fit
_BLOCK = 1_000_000  # values of resamples at a time, which bounds memory


def least_models(n_bases: int) -> int:
    """Return the least number of models for leave-one-out fits on `n_bases` base accuracies."""
    # Without one of them, two more than there are bases.
    return n_bases + 3


def evaluate_without_each(
    x: FloatArray, y: FloatArray, counts: FloatArray, at: FloatArray
) -> FloatArray:
    """Predict each model's y by the least-squares fit to all other models (leave-one-out).

    The fit without a model follows from that with it, by its leverage (Cook & Weisberg 1982,
    *Residuals and Influence in Regression*, section 2.2).

    Terms of the fit `x`, and those `at` which it is evaluated, have shape (n_fits or 1, n_models,
    n_terms); `counts`, how often each model counts, and the result (n_fits, n_models). It is NaN
    where the other models do not determine a fit.
    """
    squares = (x[..., :, None] * x[..., None, :]).reshape(*x.shape[:2], -1)
    grams = (counts[:, None, :] @ squares).reshape(len(counts), x.shape[2], x.shape[2])
    values, vectors = np.linalg.eigh(grams)
    is_fit = values[:, :1] > _UNDETERMINED * values[:, -1:]
    # Made-up eigenvalues keep what is thrown away below finite.
    inverse = (vectors / np.where(is_fit, values, 1.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    x_t = np.swapaxes(x, 1, 2)
    coefficients = np.swapaxes(inverse @ np.swapaxes((counts * y)[:, None, :] @ x, 1, 2), 1, 2)
    directions = np.swapaxes(inverse @ x_t, 1, 2)  # of each model: (n_fits, n_models, n_terms)
    left = 1 - counts * (directions * x).sum(axis=2)
    is_fit = is_fit & (left > _UNDETERMINED)
    change = counts * (y - (coefficients @ x_t)[:, 0]) / np.where(is_fit, left, 1.0)
    value = (at * (coefficients - directions * change[:, :, None])).sum(axis=2)
    return np.where(is_fit, value, np.nan)


def draw_accuracies(
    accuracy: FloatArray,
    n: npt.NDArray[np.int64],
    right: Sequence[npt.NDArray[np.bool_] | None],
    *,
    resamples: int,
    seed: int,
) -> FloatArray:
    """Simulate accuracies of models on other random test sets of the same sizes.

    Accuracies and sizes have shape (n_sets, n_models). Where it is known which datapoints models
    predict correctly, these are drawn with replacement, the same for all models; otherwise each
    model's count is drawn from a binomial distribution. What is returned, of shape (resamples,
    n_sets, n_models), is at least half a datapoint from 0 and 1, which have no probit; it is empty
    if a size is unknown (0).
    """
    if (n == 0).any():
        return np.empty((0, *n.shape))
    rng, drawn = np.random.default_rng(seed), np.empty((resamples, *n.shape))
    ends = 0.5 / (n + 1), 1 - 0.5 / (n + 1)
    chance = np.clip(accuracy, *ends)
    for i, right_on_set in enumerate(right):
        if right_on_set is None:
            drawn[:, i] = rng.binomial(n[i], chance[i], (resamples, n.shape[1]))
        else:
            drawn[:, i] = _bootstrap_counts(right_on_set, resamples, rng)
    drawn /= n
    return np.clip(drawn, *ends, out=drawn)


def _bootstrap_counts(
    right: npt.NDArray[np.bool_], resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Return each model's number of correct predictions in each resample, (resamples, n_models)."""
    counts, size = np.empty((resamples, len(right))), right.shape[1]
    correct = right.T.astype(np.float32)  # exact for sums up to 2 ** 24
    times = np.empty((max(1, min(resamples, _BLOCK // size)), size), np.float32)
    for first in range(0, resamples, len(times)):
        block = counts[first : first + len(times)]
        for row in times[: len(block)]:
            row[:] = np.bincount(rng.integers(size, size=size, dtype=np.uint32), minlength=size)
        block[:] = times[: len(block)] @ correct
    return counts


def effective_robustness(
    accuracy: FloatArray,
    drawn: FloatArray,
    is_shared: npt.NDArray[np.bool_],
    is_chosen: npt.NDArray[np.bool_],
    scale: Scale,
    *,
    seed: int,
    confidence: float,
) -> dict[str, Any]:
    """Compute effective robustness, accuracy minus that by the fit to other models, by column name.

    `accuracy`, shape (1 + n_bases, n_models), is of the new set, then of its bases; `drawn`, shape
    (resamples, 1 + n_bases, n_models), are resamples of it by `draw_accuracies`, or none for no
    intervals. Where `is_shared`, these draw the same datapoints for all models, so that fits are to
    accuracies drawn and errors that models share cancel; elsewhere fits are to the models' own
    accuracies: how their images are sampled is part of how they scatter about the fit.

    `fitted` and `expected` are accuracies by the fit to all chosen models and to all others, `rho`
    is accuracy minus expected, and `n_degenerate` counts resamples that determine no fit and are
    left out. On the probit scale, a model with an accuracy of 0 or 1 is not fitted.
    """
    y, *base = to_scale(accuracy, scale)
    bases = np.transpose(base)
    # On the probit scale, an accuracy of 0 or 1 is infinite: neither fitted, nor a base.
    is_known = np.isfinite(bases).all(axis=1)
    is_standard = is_chosen & is_known & np.isfinite(y)
    n_fitted = int(is_standard.sum())
    if n_fitted < (needed := least_models(len(base))):
        raise InputError(
            f"{counted(n_fitted, 'standard model')} with finite accuracies on the {scale.value} "
            f"scale, of {needed} needed", field="effective_robustness.standard",
            remedy="Name more models, or leave the scale out of effective_robustness.scales",
        )  # fmt: skip
    centre, spread = bases[is_standard].mean(axis=0), bases[is_standard].std(axis=0)

    def terms(values: FloatArray) -> FloatArray:
        """Return the terms of the regression: 1, and the standardised values on the base sets."""
        scaled = (values - centre) / np.where(spread > 0, spread, 1.0)
        return np.concatenate([np.ones_like(scaled[..., :1]), scaled], axis=-1)

    bases, y = np.where(is_known[:, None], bases, centre), np.where(is_standard, y, 0.0)
    x, counts = terms(bases), is_standard.astype(np.float64)
    expected = from_scale(evaluate_without_each(x[None], y[None], counts[None], x[None])[0], scale)
    if np.isnan(expected).all():
        raise InputError(
            f"the accuracies of {n_fitted} standard models on the base sets determine no fit",
            field="effective_robustness.sets",
            remedy="Leave out a base on which all are equal, or that follows from the others",
        )
    coefficients = np.linalg.lstsq(x[is_standard], y[is_standard], rcond=None)[0]
    by_fit = np.array([from_scale(x @ coefficients, scale), expected])
    fitted, expected = np.where(is_known, by_fit, np.nan)
    rng = np.random.default_rng([seed, 1])  # not the stream of `drawn`
    rhos = np.empty((len(drawn), len(y)))
    block = max(1, _BLOCK // (len(y) * x.shape[1] ** 2))
    for first in range(0, len(drawn), block):
        resampled = drawn[first : first + block]
        times = rng.multinomial(n_fitted, counts / n_fitted, len(resampled)).astype(np.float64)
        own = to_scale(np.swapaxes(resampled, 1, 2), scale)
        others = np.where(is_shared, own, np.column_stack([y, bases]))
        predicted = evaluate_without_each(
            terms(others[..., 1:]), others[..., 0], times, terms(own[..., 1:])
        )
        rho = resampled[:, 0] - from_scale(predicted, scale)
        rhos[first : first + block] = np.where(is_known, rho, np.nan)
    kept = [values[~np.isnan(values)] for values in rhos.T]
    pairs = [percentile_interval(v, confidence) if len(v) else (np.nan, np.nan) for v in kept]
    low, high = np.transpose(pairs)
    return {
        "is_standard": is_standard, "fitted": fitted, "expected": expected,
        "rho": accuracy[0] - expected, "rho_low": low, "rho_high": high,
        "n_standard": n_fitted - is_standard, "resamples": len(drawn),
        "n_degenerate": [len(drawn) - len(values) for values in kept],
    }  # fmt: skip
