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
    """Transform accuracies to a scale."""
    from scipy.special import ndtri

    values = np.asarray(accuracy, dtype=np.float64)
    return 100 * values if scale is Scale.LINEAR else np.asarray(ndtri(values))


def from_scale(values: npt.ArrayLike, scale: Scale) -> FloatArray:
    """Transform values on a scale back to accuracies; the inverse of `to_scale`."""
    from scipy.special import ndtr

    values = np.asarray(values, dtype=np.float64)
    return values / 100 if scale is Scale.LINEAR else np.asarray(ndtr(values))


def clipped_accuracy(correct: npt.ArrayLike, n: npt.ArrayLike) -> FloatArray:
    """Estimate accuracies as (k + ½) / (n + 1), which is finite on the probit scale."""
    return (np.asarray(correct, np.float64) + 0.5) / (np.asarray(n, np.float64) + 1)
