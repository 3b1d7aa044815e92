"""Fits to all models but one: how far each model is from what the others say, with intervals.

Taori et al. (2020), arXiv 2007.00644, section 2; Shi et al. (2023), arXiv 2302.01381.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.io.text_tables import counted
from matcheval.statistics.intervals import FloatArray
from matcheval.statistics.lines import Scale, from_scale, percentile_interval, to_scale

_UNDETERMINED = 1e-9  # part of the largest eigenvalue, or of 1, below which there is no fit
_BLOCK = 1_000_000  # models times resamples at a time, which bounds memory


def least_models(n_bases: int) -> int:
    """Return how many models are needed: without one of them, two more than there are bases."""
    return n_bases + 3


def evaluate_without_each(
    x: FloatArray, y: FloatArray, counts: FloatArray, at: FloatArray
) -> FloatArray:
    """Fit by least squares to all models but one, and evaluate the fit for that one.

    The fit without a model follows from that with it, by its leverage (Cook & Weisberg 1982,
    *Residuals and Influence in Regression*, section 2.2).

    Parameters
    ----------
    x : float64 array, shape (n_models, n_terms)
        Terms of the fit, of which one is constant.
    y : float64 array, shape (n_models,)
    counts : float64 array, shape (n_fits, n_models)
        How often each model counts; 0 for those that are not fitted.
    at : float64 array, shape (n_fits or 1, n_models, n_terms)
        Terms at which the fit without a model is evaluated.

    Returns
    -------
    float64 array, shape (n_fits, n_models)
        NaN where the other models do not determine a fit.
    """
    squares = (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)
    grams = (counts @ squares).reshape(len(counts), x.shape[1], x.shape[1])
    values, vectors = np.linalg.eigh(grams)
    is_fit = values[:, :1] > _UNDETERMINED * values[:, -1:]
    # Made-up eigenvalues keep what is thrown away below finite.
    inverse = (vectors / np.where(is_fit, values, 1.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    coefficients = (inverse @ ((counts * y) @ x)[:, :, None])[:, :, 0]
    directions = np.swapaxes(inverse @ x.T, 1, 2)  # of each model: (n_fits, n_models, n_terms)
    left = 1 - counts * (directions * x).sum(axis=2)
    is_fit = is_fit & (left > _UNDETERMINED)
    change = counts * (y - coefficients @ x.T) / np.where(is_fit, left, 1.0)
    value = (at * (coefficients[:, None, :] - directions * change[:, :, None])).sum(axis=2)
    return np.where(is_fit, value, np.nan)


def effective_robustness(
    accuracy: FloatArray,
    n: npt.NDArray[np.int64],
    is_chosen: npt.NDArray[np.bool_],
    scale: Scale,
    *,
    resamples: int,
    seed: int,
    confidence: float,
) -> dict[str, Any]:
    """Compute the effective robustness of models on one scale.

    Parameters
    ----------
    accuracy, n : float64 and int64 arrays, shape (1 + n_bases, n_models)
        Accuracies, as fractions, and sizes of the new set and of its bases; a size of 0 if unknown.
    is_chosen : bool array, shape (n_models,)
        Whether a model is fitted. On the probit scale, one with an accuracy of 0 or 1 is not.
    scale : Scale
        Of all accuracies in the fit.
    resamples, seed : int
        Each resample draws a model's correct predictions from binomial distributions, and the
        fitted models with replacement. Their own accuracies are not drawn again: the sampling of
        their images is part of how they scatter about the fit.
    confidence : float
        Level of the percentile intervals.

    Returns
    -------
    dict
        By name, arrays of shape (n_models,): `is_standard`, whether a model is fitted; `fitted` and
        `expected`, accuracies by the fit to all and to all others; `rho`, accuracy minus expected,
        with `rho_low` and `rho_high`, NaN if a size is unknown; `n_standard`, models of that fit;
        `resamples`, a number; `n_degenerate`, resamples that determine no fit and are left out.

    Raises
    ------
    InputError
        If too few models are fitted, or they determine no fit.
    """
    y, *base = to_scale(accuracy, scale)
    given = np.transpose(base)
    # On the probit scale, an accuracy of 0 or 1 is infinite: neither fitted, nor a base.
    is_known = np.isfinite(given).all(axis=1)
    is_standard = is_chosen & is_known & np.isfinite(y)
    n_fitted = int(is_standard.sum())
    if n_fitted < (needed := least_models(len(base))):
        raise InputError(
            f"{counted(n_fitted, 'standard model')} with finite accuracies on the {scale.value} "
            f"scale, of {needed} needed", field="effective_robustness.standard",
            remedy="Name more models, or leave the scale out of effective_robustness.scales",
        )  # fmt: skip
    centre, spread = given[is_standard].mean(axis=0), given[is_standard].std(axis=0)

    def terms(values: FloatArray) -> FloatArray:
        """Return a constant, and values on the bases in standard deviations of the models."""
        scaled = (values - centre) / np.where(spread > 0, spread, 1.0)
        return np.concatenate([np.ones_like(scaled[..., :1]), scaled], axis=-1)

    x, y = terms(np.where(is_known[:, None], given, centre)), np.where(is_standard, y, 0.0)
    counts = is_standard.astype(np.float64)
    expected = from_scale(evaluate_without_each(x, y, counts[None], x[None])[0], scale)
    if np.isnan(expected).all():
        raise InputError(
            f"the accuracies of {n_fitted} standard models on the base sets determine no fit",
            field="effective_robustness.sets",
            remedy="Leave out a base on which all are equal, or that follows from the others",
        )
    coefficients = np.linalg.lstsq(x[is_standard], y[is_standard], rcond=None)[0]
    by_fit = np.array([from_scale(x @ coefficients, scale), expected])
    fitted, expected = np.where(is_known, by_fit, np.nan)
    drawn, rng = np.empty((0, len(y))), np.random.default_rng(seed)
    ends = 0.5 / (n + 1), 1 - 0.5 / (n + 1)  # for 0 and 1, which have no probit
    block = max(1, _BLOCK // len(y))
    for first in range(0, resamples if (n > 0).all() else 0, block):
        size = min(block, resamples - first)
        times = rng.multinomial(n_fitted, counts / n_fitted, size).astype(np.float64)
        each = np.clip(rng.binomial(n, np.clip(accuracy, *ends), (size, *n.shape)) / n, *ends)
        at = terms(np.moveaxis(to_scale(each[:, 1:], scale), 1, 2))
        of_fits = from_scale(evaluate_without_each(x, y, times, at), scale)
        drawn = np.concatenate([drawn, np.where(is_known, each[:, 0] - of_fits, np.nan)])
    kept = [values[~np.isnan(values)] for values in drawn.T]
    pairs = [percentile_interval(v, confidence) if len(v) else (np.nan, np.nan) for v in kept]
    low, high = np.transpose(pairs)
    return {
        "is_standard": is_standard, "fitted": fitted, "expected": expected,
        "rho": accuracy[0] - expected, "rho_low": low, "rho_high": high,
        "n_standard": n_fitted - is_standard, "resamples": len(drawn),
        "n_degenerate": [len(drawn) - len(values) for values in kept],
    }  # fmt: skip
