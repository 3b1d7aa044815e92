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
    # Imported when needed, for it brings the compiler.
    from matcheval.analyses.near_duplicates.windows import compare

    if first.shape != second.shape or first.ndim != 4:
        raise InputError(f"pairs of shapes {first.shape} and {second.shape}")
    if window % 2 == 0 or not 3 <= window <= min(first.shape[1:3]):
        raise InputError(
            f"a window of {window} in images of {first.shape[1]} × {first.shape[2]} pixels",
            field="window",
            remedy="Give an odd number from 3 to the shorter side",
        )
    result = np.empty(len(first))
    compare(
        np.ascontiguousarray(first), np.ascontiguousarray(second), window,
        (_K1 * max_value) ** 2, (_K2 * max_value) ** 2, result,
    )  # fmt: skip
    return result
