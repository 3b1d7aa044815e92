"""Structural similarity of pairs of images, many at a time.

The definition is scikit-image's default, `structural_similarity(..., channel_axis=-1)`: a uniform
window, sample covariances, the mean over all places where the window lies within the image. It is
written here because scikit-image takes one pair per call, and is a large package for one formula;
a test compares with its values.
"""

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError

WINDOW = 7
_K1, _K2 = 0.01, 0.03
_PAIRS = 512  # at a time

Floats = npt.NDArray[np.float64]


def structural_similarity(
    first: npt.NDArray[np.uint8],
    second: npt.NDArray[np.uint8],
    max_value: int = 255,
    window: int = WINDOW,
) -> Floats:
    """Structural similarity (SSIM) of every pair of images.

    Parameters
    ----------
    first, second : uint8 arrays, shape (n, height, width, channels)
        Pair i is `first[i]` and `second[i]`.
    max_value : int
        The range of the pixels.
    window : int
        Side of the uniform window: odd, at least 3, at most height and width.

    Returns
    -------
    float64 array, shape (n,)
        In [-1, 1]; 1 for equal images.

    Raises
    ------
    InputError
        If shapes differ or the window does not fit.

    References
    ----------
    Wang, Bovik, Sheikh & Simoncelli (2004), IEEE Transactions on Image Processing 13(4).
    """
    if first.shape != second.shape or first.ndim != 4:
        raise InputError(f"pairs of shapes {first.shape} and {second.shape}")
    if window % 2 == 0 or not 3 <= window <= min(first.shape[1:3]):
        raise InputError(
            f"a window of {window} in images of {first.shape[1]} × {first.shape[2]} pixels",
            field="window",
            remedy="Give an odd number from 3 to the shorter side",
        )
    parts = [
        _similarity(first[i : i + _PAIRS], second[i : i + _PAIRS], max_value, window)
        for i in range(0, len(first), _PAIRS)
    ]
    return np.concatenate([np.empty(0), *parts])


def _similarity(
    first: npt.NDArray[np.uint8], second: npt.NDArray[np.uint8], max_value: int, window: int
) -> Floats:
    x, y = first.astype(np.float64), second.astype(np.float64)
    mean_x, mean_y = _windows(x, window), _windows(y, window)
    # Sample, not population, covariances.
    n = window * window
    correction = n / (n - 1)
    var_x = correction * (_windows(x * x, window) - mean_x**2)
    var_y = correction * (_windows(y * y, window) - mean_y**2)
    covariance = correction * (_windows(x * y, window) - mean_x * mean_y)
    c1, c2 = (_K1 * max_value) ** 2, (_K2 * max_value) ** 2
    above = (2 * mean_x * mean_y + c1) * (2 * covariance + c2)
    below = (mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2)
    result: Floats = (above / below).mean(axis=(1, 2, 3))
    return result


def _windows(values: Floats, window: int) -> Floats:
    """Mean over every window within the image; sums of whole numbers, so without rounding."""
    for axis in (1, 2):
        sums = np.cumsum(values, axis=axis)
        first = np.take(sums, [window - 1], axis=axis)
        rest = np.take(sums, np.arange(window, sums.shape[axis]), axis=axis)
        before = np.take(sums, np.arange(0, sums.shape[axis] - window), axis=axis)
        values = np.concatenate([first, rest - before], axis=axis)
    return values / (window * window)
