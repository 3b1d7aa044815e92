"""Augmentations of a batch: images and target distributions in, the same out.

Each draws from the given generator alone. To add one, write a function like those below, and
add a line to `_AUGMENTATIONS` and its name to `training.AUGMENTATIONS`.
"""

from collections.abc import Callable

import torch
from torch import Generator, Tensor
from torch.nn import functional

Batch = tuple[Tensor, Tensor]

_NOISE = 0.1  # standard deviation, images being in [0, 1]


def augment(name: str, images: Tensor, targets: Tensor, generator: Generator) -> Batch:
    """Augment a batch; the arguments are left as they are.

    Parameters
    ----------
    name : str
        `none`: nothing.
        `shift`: each image by -1, 0 or 1 pixel in both directions, filled up with 0.
        `noise`: independent Gaussian noise of standard deviation 0.1, not clipped.
        `cutout`: a square of 0, its side a quarter of the image's shorter one, centred on any
        pixel of each image and cut off at the border (DeVries & Taylor 2017).
        `mixup`: w of each image and target, 1 - w of another one's of the batch, w uniform on
        [0, 1] and shared by the batch (Zhang et al. 2018, with α = 1).
    images : float tensor, shape (n, channels, height, width)
        In [0, 1].
    targets : float tensor, shape (n, n_classes)
        Distributions.
    generator : torch.Generator
        Source of all randomness.

    Returns
    -------
    images, targets : tensors of the same shapes

    Raises
    ------
    KeyError
        If the name is unknown; a `Recipe` has checked it.
    """
    return _AUGMENTATIONS[name](images, targets, generator)


def _none(images: Tensor, targets: Tensor, generator: Generator) -> Batch:
    return images, targets


def _shift(images: Tensor, targets: Tensor, generator: Generator) -> Batch:
    n, _, height, width = images.shape
    # Corner of each image's window on the padded image: 1, 1 is the image where it was.
    corner = torch.randint(0, 3, (2, n, 1), generator=generator)
    rows = corner[0] + torch.arange(height)
    columns = corner[1] + torch.arange(width)
    padded = functional.pad(images, (1, 1, 1, 1)).permute(0, 2, 3, 1)
    shifted = padded[torch.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]
    return shifted.permute(0, 3, 1, 2).contiguous(), targets


def _noise(images: Tensor, targets: Tensor, generator: Generator) -> Batch:
    noise = torch.randn(images.shape, generator=generator, dtype=images.dtype)
    return images + _NOISE * noise, targets


def _cutout(images: Tensor, targets: Tensor, generator: Generator) -> Batch:
    n, _, height, width = images.shape
    side = max(1, min(height, width) // 4)

    def inside(length: int) -> Tensor:
        start = torch.randint(0, length, (n, 1), generator=generator) - side // 2
        positions = torch.arange(length)
        return (positions >= start) & (positions < start + side)

    hidden = inside(height)[:, None, :, None] & inside(width)[:, None, None, :]
    return images.masked_fill(hidden, 0.0), targets


def _mixup(images: Tensor, targets: Tensor, generator: Generator) -> Batch:
    weight = torch.rand((), generator=generator, dtype=images.dtype)
    other = torch.randperm(len(images), generator=generator)
    return torch.lerp(images[other], images, weight), torch.lerp(targets[other], targets, weight)


_AUGMENTATIONS: dict[str, Callable[[Tensor, Tensor, Generator], Batch]] = {
    "none": _none,
    "shift": _shift,
    "noise": _noise,
    "cutout": _cutout,
    "mixup": _mixup,
}
