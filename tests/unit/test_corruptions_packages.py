"""Our corruptions beside those of two packages, where these are installed.

With the parameters for 224 pixels, the only ones that the packages have. What they do differently
is left out: the elastic transform of imagecorruptions; glass and motion blur, snow, frost (it draws
from six photographs), fog, spatter and elastic transform of corrupt-tta. Glass, Gaussian blur and
fog of imagecorruptions 1.1.2 fail with present versions of NumPy and scikit-image.
"""

from pathlib import Path

import numpy as np
import pytest

from matcheval.datasets.corruptions.applying import corrupt
from matcheval.datasets.corruptions.names import SEVERITIES
from photos import photo

SIDE, N = 64, 40
IMAGES = np.stack([np.asarray(photo(SIDE, SIDE, seed)) for seed in range(N)])
EQUAL = ["jpeg_compression", "pixelate"]
# A level below, where rounding errors bring them below a whole grey level.
NEAR = ["contrast", "brightness", "saturate", "defocus_blur", "zoom_blur"]
RANDOM = ["gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise"]
COMPARED = [
    *(("imagecorruptions", name) for name in EQUAL + NEAR + RANDOM),
    *(("imagecorruptions", name) for name in ("frost", "motion_blur", "snow", "spatter")),
    *(("corrupt_tta", name) for name in [*EQUAL, *NEAR, "gaussian_blur", *RANDOM]),
]


def psnr(images):
    squares = (images.astype(float) - IMAGES) ** 2
    return float(10 * np.log10(255**2 / squares.mean()))


@pytest.mark.parametrize(("package", "name"), COMPARED)
def test_results_are_those_of_a_package(package, name):
    module = pytest.importorskip(package)
    textures = Path(module.__file__).parent / "frost"
    np.random.seed(0)  # noqa: NPY002 (the packages draw from the global state)
    for severity in SEVERITIES:
        ours = corrupt(IMAGES, name, severity, range(N), size=224, textures=textures)
        theirs = np.stack([
            np.uint8(module.corrupt(image, corruption_name=name, severity=severity))
            for image in IMAGES
        ])  # fmt: skip
        if name in EQUAL:
            assert np.array_equal(ours, theirs)
        elif name in [*NEAR, "gaussian_blur"]:
            assert np.abs(ours - theirs.astype(int)).max() <= 1
            assert np.mean(ours == theirs) > 0.9
        else:
            assert psnr(ours) == pytest.approx(psnr(theirs), abs=0.25 if name in RANDOM else 1)
