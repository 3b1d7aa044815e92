"""What the corruptions of C-bar share: their severities, and the side of square images.

A severity of C-bar is a level on a scale from 0 to 10, which each corruption turns into its own
parameter. Lengths are relative to the side of the image, so that one scale serves all sizes.

Source: Mintun, Kirillov & Xie 2021 (NeurIPS, "On Interaction Between Augmentations and Corruptions
in Natural Corruption Robustness"), and facebookresearch/augmentation-corruption (MIT), commit
ba4d5a5e, imagenet_c_bar/: levels in cifar10_c_bar.csv and imagenet_c_bar.csv, algorithms in
corrupt.py. Only five of the ten corruptions are in ImageNet-C-bar; for the others, the levels of
CIFAR-10-C-bar are used at 224 pixels too.
"""

from matcheval.datasets.corruptions.corruption import Bytes, Images, by_size
from matcheval.errors import InputError

Levels = tuple[float, float, float, float, float]


def levels(small: Levels, large: Levels | None = None) -> dict[int, tuple[float, ...]]:
    """Return the levels of five severities by size of image."""
    return by_size(small, large or small)


def side_of(images: Images | Bytes) -> int:
    """Return the side of square images, by which C-bar scales its lengths."""
    height, width = images.shape[1:3]
    if height != width:
        raise InputError(
            f"images of {height} × {width} pixels to corrupt; C-bar is defined for square images",
            remedy="Crop or resize them",
        )
    return int(height)
