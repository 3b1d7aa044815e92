"""What scores of features share: the features of both sets, checked."""

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.outputs.model_outputs import Outputs
from matcheval.accuracy_prediction.outputs.moments import Moments
from matcheval.accuracy_prediction.scores.score import NotAvailableError

Features = npt.NDArray[np.float32]


def features_of(outputs: Outputs) -> Features:
    """Return the features of a set.

    Parameters
    ----------
    outputs : Outputs

    Returns
    -------
    float array, shape (n, n_features)
        Finite; at least one datapoint.

    Raises
    ------
    NotAvailableError
        If they are not on file or not finite, or there are no datapoints.
    """
    if outputs.features is None:
        raise NotAvailableError("no features on file: inference.outputs: [features]")
    if not len(outputs):
        raise NotAvailableError("there are no datapoints")
    if not np.isfinite(outputs.features).all():
        raise NotAvailableError("features are not finite numbers")
    return outputs.features


def moments_of(outputs: Outputs) -> Moments:
    """Return mean and covariance of a set's features, from these or from their statistics."""
    if outputs.features is not None:
        features_of(outputs)
    moments = outputs.moments
    if moments is None:
        raise NotAvailableError(
            "no features on file, and the statistics on file, if any, are of all classes: "
            "inference.outputs: [features]"
        )
    if not np.isfinite(moments.mean).all():
        raise NotAvailableError("features are not finite numbers")
    return moments


def check_widths(one: int, other: int) -> None:
    """Refuse to compare features of different numbers."""
    if one != other:
        raise NotAvailableError(
            f"the set has {other} features per datapoint, and what it is compared with has {one}"
        )
