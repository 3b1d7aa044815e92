"""Augmentations of a batch: images and target distributions in, the same out.

Each draws from the given generator, which is the CPU's, so that every device sees the same
augmentations; the images never leave their device. To add one, write a function like those
below, and add a line to `_AUGMENTATIONS` and its name to `training.AUGMENTATIONS`.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn import functional

from matcheval.training.recipe import AUGMENTATION_PARAMETERS

Batch = tuple[Tensor, Tensor]

_NOISE = 0.1  # standard deviation, images being in [0, 1]
_PADDING = 4  # pixels on each side, of `basic`
_CUTMIX_PART = 0.5  # of the batches, as in the authors' CIFAR experiments


def augment(
    name: str,
    images: Tensor,
    targets: Tensor,
    generator: Generator,
    parameter: float | None = None,
) -> Batch:
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
        `basic`: a random crop of each image padded by 4 pixels of 0, mirrored half of the time.
        `basic_mixup`: `basic`, then `mixup` with w of Beta(α, α).
        `basic_cutmix`: `basic`, then in half of the batches a box of another image of the batch
        in place of the image's own, of an area 1 - w, w of Beta(α, α) (Yun et al. 2019).
        `basic_ricap`: `basic`, then four images' random crops around a point, whose coordinates
        are of Beta(β, β) (Takahashi et al. 2018).
    images : float tensor, shape (n, channels, height, width)
        In [0, 1].
    targets : float tensor, shape (n, n_classes)
        Distributions, on the images' device.
    generator : torch.Generator
        Source of all randomness, on the CPU.
    parameter : float, optional
        α or β as above; by default as in `AUGMENTATION_PARAMETERS`.

    Returns
    -------
    images, targets : tensors of the same shapes

    Raises
    ------
    KeyError
        If the name is unknown; a `Recipe` has checked it.
    """
    known = AUGMENTATION_PARAMETERS.get(name)
    if parameter is None:
        parameter = known.default if known else 0.0
    return _AUGMENTATIONS[name](images, targets, generator, parameter)


def _none(images: Tensor, targets: Tensor, generator: Generator, parameter: float) -> Batch:
    return images, targets


def _shift(images: Tensor, targets: Tensor, generator: Generator, parameter: float) -> Batch:
    # Corner of each image's window on the padded image: 1, 1 is the image where it was.
    corner = torch.randint(0, 3, (2, len(images), 1), generator=generator)
    mirrored = torch.zeros(len(images), 1, dtype=torch.bool)
    return _windows(images, corner, mirrored, 1), targets


def _basic(images: Tensor, targets: Tensor, generator: Generator, parameter: float) -> Batch:
    n = len(images)
    corner = torch.randint(0, 2 * _PADDING + 1, (2, n, 1), generator=generator)
    mirrored = torch.rand(n, 1, generator=generator) < 0.5
    return _windows(images, corner, mirrored, _PADDING), targets


def _windows(images: Tensor, corner: Tensor, mirrored: Tensor, padding: int) -> Tensor:
    """Cut each image's window out of its padded self, mirrored left to right or not.

    Parameters
    ----------
    images : tensor, shape (n, channels, height, width)
    corner : int64 tensor, shape (2, n, 1)
        Upper and left end of each window on the padded image, in 0..2 padding.
    mirrored : bool tensor, shape (n, 1)
    padding : int
        Pixels of 0 on each side.
    """
    n, _, height, width = images.shape
    columns = torch.arange(width)
    rows = corner[0] + torch.arange(height)
    columns = corner[1] + torch.where(mirrored, width - 1 - columns, columns)
    padded = functional.pad(images, (padding,) * 4).permute(0, 2, 3, 1)
    where = (torch.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :])
    cut = padded[tuple(index.to(images.device) for index in where)].permute(0, 3, 1, 2)
    return cut if _channels_last(images) else cut.contiguous()


def _channels_last(images: Tensor) -> bool:
    """Whether the channels come last in memory, and not only trivially."""
    last = images.is_contiguous(memory_format=torch.channels_last)
    return last and not images.is_contiguous()


def _noise(images: Tensor, targets: Tensor, generator: Generator, parameter: float) -> Batch:
    noise = torch.randn(images.shape, generator=generator, dtype=images.dtype)
    return images + _NOISE * noise.to(images.device), targets


def _cutout(images: Tensor, targets: Tensor, generator: Generator, parameter: float) -> Batch:
    n, _, height, width = images.shape
    side = max(1, min(height, width) // 4)

    def inside(length: int) -> Tensor:
        start = torch.randint(0, length, (n, 1), generator=generator) - side // 2
        positions = torch.arange(length)
        return (positions >= start) & (positions < start + side)

    hidden = inside(height)[:, None, :, None] & inside(width)[:, None, None, :]
    return images.masked_fill(hidden.to(images.device), 0.0), targets


def _mixup(images: Tensor, targets: Tensor, generator: Generator, parameter: float) -> Batch:
    weight = torch.rand((), generator=generator, dtype=images.dtype)
    return _mixed(images, targets, weight, generator)


def _basic_mixup(images: Tensor, targets: Tensor, generator: Generator, alpha: float) -> Batch:
    images, targets = _basic(images, targets, generator, 0.0)
    weight = torch.tensor(_beta(alpha, 1, generator)[0], dtype=images.dtype)
    return _mixed(images, targets, weight, generator)


def _mixed(images: Tensor, targets: Tensor, weight: Tensor, generator: Generator) -> Batch:
    other = torch.randperm(len(images), generator=generator).to(images.device)
    weight = weight.to(images.device)
    return torch.lerp(images[other], images, weight), torch.lerp(targets[other], targets, weight)


def _basic_cutmix(images: Tensor, targets: Tensor, generator: Generator, alpha: float) -> Batch:
    images, targets = _basic(images, targets, generator, 0.0)
    if torch.rand((), generator=generator) >= _CUTMIX_PART:
        return images, targets
    height, width = images.shape[2:]
    side = float(np.sqrt(1.0 - _beta(alpha, 1, generator)[0]))
    bounds = []
    for length in (height, width):
        centre = int(torch.randint(0, length, (), generator=generator))
        half = int(length * side) // 2
        bounds.append((max(0, centre - half), min(length, centre + half)))
    (top, bottom), (left, right) = bounds
    other = torch.randperm(len(images), generator=generator).to(images.device)
    images = images.clone()
    images[:, :, top:bottom, left:right] = images[other, :, top:bottom, left:right]
    # What the border cut off is not the other image's.
    weight = 1 - (bottom - top) * (right - left) / (height * width)
    return images, weight * targets + (1 - weight) * targets[other]


def _basic_ricap(images: Tensor, targets: Tensor, generator: Generator, beta: float) -> Batch:
    images, targets = _basic(images, targets, generator, 0.0)
    height, width = images.shape[2:]
    shares = _beta(beta, 2, generator)
    row, column = round(height * shares[0]), round(width * shares[1])
    patched, mixed = torch.empty_like(images), torch.zeros_like(targets)
    for rows in ((0, row), (row, height)):
        for columns in ((0, column), (column, width)):
            tall, wide = rows[1] - rows[0], columns[1] - columns[0]
            top = int(torch.randint(0, height - tall + 1, (), generator=generator))
            left = int(torch.randint(0, width - wide + 1, (), generator=generator))
            other = torch.randperm(len(images), generator=generator).to(images.device)
            patch = images[other, :, top : top + tall, left : left + wide]
            patched[:, :, slice(*rows), slice(*columns)] = patch
            mixed += tall * wide / (height * width) * targets[other]
    return patched, mixed


def _beta(parameter: float, n: int, generator: Generator) -> list[float]:
    """Draws of Beta(p, p); torch's own take no generator."""
    seed = int(torch.randint(0, 2**63 - 1, (), generator=generator))
    draws = np.random.default_rng(seed).beta(parameter, parameter, n)
    return [float(draw) for draw in draws]


_AUGMENTATIONS: dict[str, Callable[[Tensor, Tensor, Generator, float], Batch]] = {
    "none": _none,
    "shift": _shift,
    "noise": _noise,
    "cutout": _cutout,
    "mixup": _mixup,
    "basic": _basic,
    "basic_mixup": _basic_mixup,
    "basic_cutmix": _basic_cutmix,
    "basic_ricap": _basic_ricap,
}
