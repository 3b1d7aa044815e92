"""Fingerprints of arrays, how they are compared, and bytes to take them of."""

import hashlib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

TOLERANCE = 1e-4  # of the root mean square of an array
_PROJECTIONS = 3

Fingerprint = dict[str, Any]


def fingerprint(arrays: Iterable[Any], text: object = "") -> Fingerprint:
    """The statistics of arrays, and the digest of a text."""
    return {
        "numbers": [_statistics(np.asarray(array, np.float64).ravel()) for array in arrays],
        "text": hashlib.sha256(repr(text).encode()).hexdigest()[:16],
    }


def _statistics(values: np.ndarray) -> list[float]:
    """Root mean square, mean, standard deviation, and projections on incommensurable waves."""
    n = len(values)
    waves = (np.cos(np.arange(n) * math.sqrt(2 + k) + k) for k in range(_PROJECTIONS))
    found = [np.sqrt(np.mean(values**2)), values.mean(), values.std()]
    found += [(values * wave).sum() / math.sqrt(n) for wave in waves]
    return [float(f"{value:.8g}") for value in found]


def differs(one: Fingerprint, other: Fingerprint, tolerance: float = TOLERANCE) -> bool:
    """Whether two fingerprints differ by more than last bits."""
    if one["text"] != other["text"] or len(one["numbers"]) != len(other["numbers"]):
        return True
    return any(
        not np.allclose(ours, theirs, rtol=0, atol=tolerance * max(theirs[0], 1e-3))
        for ours, theirs in zip(one["numbers"], other["numbers"], strict=True)
    )


def pixels(*shape: int) -> np.ndarray:
    """Bytes without pattern, the same on every machine and with every version of NumPy."""
    n = np.arange(math.prod(shape), dtype=np.int64)
    return ((n * n * 7919 + n * 104729) // 97 % 251).astype(np.uint8).reshape(shape)
