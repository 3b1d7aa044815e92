"""The softmax, the predicted class and its probability, in float32 for every model precision."""

from typing import Any

import numpy as np
import numpy.typing as npt


def softmax(logits: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Compute the softmax over the last axis in float32.

    Parameters
    ----------
    logits : float array, shape (..., n_classes)
        Finite scores.

    Returns
    -------
    float32 array of the same shape
    """
    # Subtract the maximum before rounding to float32, which a large float64 logit would overflow.
    wide = logits.astype(np.promote_types(logits.dtype, np.float32))
    with np.errstate(over="ignore"):  # overflow to -inf is fine: its exponential is 0
        shifted: npt.NDArray[np.float32] = (wide - wide.max(-1, keepdims=True)).astype(np.float32)
    np.exp(shifted, out=shifted)
    shifted /= shifted.sum(axis=-1, keepdims=True)
    return shifted


def most_probable(
    scores: npt.NDArray[Any], *, logits: bool
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.float32]]:
    """Find the predicted class and its probability, from logits or from probabilities.

    Parameters
    ----------
    scores : float array, shape (n, n_classes)
        Finite logits, or probabilities whose rows sum to 1.
    logits : bool
        Whether `scores` are logits.

    Returns
    -------
    prediction : int16 array, shape (n,)
        The argmax; ties go to the lowest class.
    probability : float32 array, shape (n,)
        The maximum, in [0, 1].
    """
    probabilities = softmax(scores) if logits else scores.astype(np.float32)
    # The argmax of the scores, since the softmax may round distinct logits to equal values.
    prediction = scores.argmax(axis=-1).astype(np.int16)
    probability = probabilities.max(axis=-1)
    return prediction, np.minimum(probability, np.float32(1))
