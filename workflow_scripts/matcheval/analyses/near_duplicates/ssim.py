"""Structural similarity of pairs of images, many at a time.

The definition is scikit-image's default, `structural_similarity(..., channel_axis=-1)`: a uniform
window, sample covariances, and the mean over all positions of the window within the image. It is
implemented here because scikit-image, which compares one pair per call, takes 17 times as long and
is a large dependency for one formula (benchmarks/README.md); a test compares the results with
scikit-image's.
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
    """Compute the structural similarity (SSIM) of pairs of images."""
    # Imported only here: the module imports the compiler, which is slow.
    from matcheval.analyses.near_duplicates.windows import compare

    if first.shape != second.shape or first.ndim != 4:
        raise InputError(f"cannot compare arrays of shapes {first.shape} and {second.shape}")
    if window % 2 == 0 or not 3 <= window <= min(first.shape[1:3]):
        raise InputError(
            f"window of {window} pixels in images of {first.shape[1]} × {first.shape[2]} pixels",
            field="window",
            remedy="Give an odd number from 3 to the shorter side of the images",
        )
    result = np.empty(len(first))
    compare(
        np.ascontiguousarray(first), np.ascontiguousarray(second), window,
        (_K1 * max_value) ** 2, (_K2 * max_value) ** 2, result,
    )  # fmt: skip
    return result
