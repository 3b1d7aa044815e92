"""Estimates of the sizes of datasets, for resource requests. Imports no torch.

Memory and time of a job are requested before it starts, when no model has been built and no image
read. The estimates should be correct within a factor of two to three; a job whose request was too
small is repeated with more (see `resources`). They affect no results.
"""

import dataclasses
import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matcheval.errors import InputError


@dataclass(frozen=True)
class ImageSet:
    """Size of a dataset."""

    images: int
    side: int
    channels: int = 3
    classes: int = 10
    encoded: bool = False
    made: bool = False

    @property
    def pixel_bytes(self) -> int:
        """Size in bytes of all images, decoded into one array of uint8."""
        return self.images * self.side**2 * self.channels


# Sizes by kind of dataset, used until the dataset is prepared and its description has the true
# size. Unknown kinds are assumed to be as large as ImageNet's validation set.
DIGITS = ImageSet(600, 8, 1)
CIFAR = ImageSet(50_000, 32)
IMAGENET = ImageSet(50_000, 224, classes=1000, encoded=True)
CINIC = ImageSet(90_000, 32)
WAREHOUSE_SET = ImageSet(8000, 32)
KINDS = {
    "digits": DIGITS,
    "cifar": CIFAR,
    "cinic": CINIC,
    "imagenet": IMAGENET,
    "warehouse_set": WAREHOUSE_SET,
}


def size_of_kind(kind: str) -> ImageSet:
    """Return the size of datasets of a kind: that of the longest name in `KINDS` it begins with."""
    known = [name for name in KINDS if kind.startswith(name)]
    return KINDS[max(known, key=len)] if known else IMAGENET


def together(sets: Iterable[ImageSet]) -> ImageSet:
    """Return the size of several datasets of images of one shape."""
    first, *others = sets
    return dataclasses.replace(first, images=sum(one.images for one in (first, *others)))


@functools.cache
def prepared_size(folder: Path, guess: ImageSet) -> ImageSet:
    """Read the size of a dataset from its description, if it is prepared."""
    description = folder / "dataset.json"
    if not description.is_file():
        return guess
    try:
        content = json.loads(description.read_text(encoding="utf-8"))
        images, classes = int(content["n"]), int(content["n_classes"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"does not contain the number of images and classes ({error})",
            file=description,
            remedy="Delete the folder and build the dataset again",
        ) from error
    known = dataclasses.replace(guess, images=images, classes=classes)
    shape = content.get("shape") or np.load(folder / "images.npy", mmap_mode="r").shape
    if len(shape) != 4:  # image files, stored one after the other
        return dataclasses.replace(known, encoded=True)
    return dataclasses.replace(known, side=max(shape[1:3]), channels=shape[3], encoded=False)
