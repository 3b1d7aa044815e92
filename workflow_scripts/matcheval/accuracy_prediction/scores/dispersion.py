"""Dispersion score: how far apart the means of features are by predicted class (Xie et al. 2023).

NeurIPS 2023, arXiv 2303.15488. The published score grows with the number of datapoints, so that
sets of unequal size cannot be compared; the default divides by it, and `as_published` does not.
"""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores.features import features_of
from matcheval.accuracy_prediction.scores.score import (
    Need,
    NotAvailableError,
    Predicts,
    Scores,
    Sides,
)
from matcheval.errors import InputError

SCORES = Scores()


def dispersion(
    features: npt.NDArray[Any], predicted: npt.NDArray[Any], *, per_row: bool = False
) -> float:
    """Compute the logarithm of the weighted spread of the means by predicted class.

    Parameters
    ----------
    features : float array, shape (n, n_features)
        Finite, as they enter the last layer, not normalised.
    predicted : int array, shape (n,)
        Predicted classes, at least two different ones.
    per_row : bool
        Whether to divide the spread by n, for sets of unequal size.

    Raises
    ------
    InputError
        If all predictions are of one class, features are not finite, or the means of all predicted
        classes are equal, as they are of constant features: the logarithm of 0 is no score.

    References
    ----------
    Xie et al. (2023), arXiv 2303.15488; common/distance.py of its code, which divides by the number
    of predicted classes minus 1 where the paper has all classes.
    """
    values, classes = np.asarray(features, np.float64), np.unique(predicted)
    if len(classes) < 2:
        raise InputError("all predictions are of one class", field="predicted")
    if not np.isfinite(values).all():
        raise InputError("has non-finite numbers", field="features")
    mean = values.mean(axis=0)
    spread = 0.0
    for one in classes:
        of_class = values[predicted == one]
        spread += len(of_class) * float(((of_class.mean(axis=0) - mean) ** 2).sum())
    if spread == 0 or not np.ptp(values, axis=0).any():  # constants are not 0 after rounding
        raise InputError("have the same mean in every predicted class", field="features")
    return float(np.log(spread / (len(classes) - 1) / (len(values) if per_row else 1)))


def _of_target(per_row: bool, sides: Sides) -> float:
    features = features_of(sides.target)
    try:
        return dispersion(features, sides.target.predicted, per_row=per_row)
    except InputError as error:
        raise NotAvailableError(str(error)) from None


for _variant, _per_row in (("", True), ("as_published", False)):
    SCORES.add(
        "dispersion", "Dispersion", Predicts.BY_REGRESSION, 1, variant=_variant,
        needs=(Need.FEATURES,), source="Xie et al. (2023)",
    )(partial(_of_target, _per_row))  # fmt: skip
