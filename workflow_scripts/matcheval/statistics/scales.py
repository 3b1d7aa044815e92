"""The two scales on which accuracies are compared and fitted: linear and probit.

On the probit scale, Φ⁻¹ of the accuracy, the models of Recht et al. (2019, appendix C.2) lie even
closer to a line than on the linear scale; their Gaussian model of difficulty (section 5.3)
explains why.
"""

from enum import StrEnum

import numpy as np
import numpy.typing as npt

from matcheval.statistics.intervals import FloatArray


class Scale(StrEnum):
    """Scale of both axes on which a line is fitted."""

    LINEAR = "linear"
    PROBIT = "probit"


def to_scale(accuracy: npt.ArrayLike, scale: Scale) -> FloatArray:
    """Transform accuracies to a scale.

    Parameters
    ----------
    accuracy : array-like
        Fractions in [0, 1].
    scale : Scale

    Returns
    -------
    float64 array
        Of the same shape: percent on the linear scale, Φ⁻¹ of the accuracy in standard
        deviations on the probit scale (infinite at 0 and 1).
    """
    from scipy.special import ndtri

    values = np.asarray(accuracy, dtype=np.float64)
    return 100 * values if scale is Scale.LINEAR else np.asarray(ndtri(values))


def from_scale(values: npt.ArrayLike, scale: Scale) -> FloatArray:
    """Transform values on a scale back to accuracies; the inverse of `to_scale`.

    Parameters
    ----------
    values : array-like
        Percent (linear) or standard deviations (probit).
    scale : Scale

    Returns
    -------
    float64 array
        Accuracies as fractions, of the same shape.
    """
    from scipy.special import ndtr

    values = np.asarray(values, dtype=np.float64)
    return values / 100 if scale is Scale.LINEAR else np.asarray(ndtr(values))


def clipped_accuracy(correct: npt.ArrayLike, n: npt.ArrayLike) -> FloatArray:
    """Estimate accuracies as (k + ½) / (n + 1), which is finite on the probit scale.

    Half a success and half a failure are added, which gives the posterior mean under Jeffreys'
    prior, Beta(½, ½).

    Parameters
    ----------
    correct, n : array-like of int
        Numbers of correct predictions k and of datapoints n; they broadcast.

    Returns
    -------
    float64 array
        Fractions strictly between 0 and 1.

    References
    ----------
    Brown, Cai & DasGupta (2001), Statistical Science 16(2).
    """
    return (np.asarray(correct, np.float64) + 0.5) / (np.asarray(n, np.float64) + 1)
