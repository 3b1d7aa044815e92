"""Augmentations: functions from a batch of images and target distributions to another batch.

All random numbers are drawn on the CPU, so that the augmentations are the same on every device;
the images stay on their device. To add an augmentation, write a function like those below, and
add it to `_AUGMENTATIONS` and its name to `training.AUGMENTATIONS`.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn import functional

from matcheval.training.recipe import AUGMENTATION_PARAMETERS

Batch = tuple[Tensor, Tensor]

_NOISE = 0.1  # standard deviation, for pixels in [0, 1]
_PADDING = 4  # pixels on each side, in `basic`
_CUTMIX_PROBABILITY = 0.5  # per batch, as in the authors' CIFAR experiments


def augment(
    name: str, images: Tensor, targets: Tensor, generator: Generator, parameter: float | None = None
) -> Batch:
    """Augment a batch by the augmentation of that name, leaving the tensors passed unchanged."""
    if parameter is None:
        described = AUGMENTATION_PARAMETERS.get(name)
        parameter = described.default if described else 0.0
    return _AUGMENTATIONS[name](images, targets, generator, parameter)


def _none(images: Tensor, targets: Tensor, generator: Generator, parameter: float) -> Batch:
    return images, targets


def _shift(images: Tensor, targets: Tensor, generator: Generator, parameter: float) -> Batch:
    """Shift each image by up to one pixel, with a border of 0."""
    # Upper left corner of each window on the padded image; (1, 1) leaves the image where it is.
    corner = torch.randint(0, 3, (2, len(images), 1), generator=generator)
    flipped = torch.zeros(len(images), 1, dtype=torch.bool)
    return _crop_and_flip(images, corner, flipped, 1), targets


def _basic(images: Tensor, targets: Tensor, generator: Generator, parameter: float) -> Batch:
    """Crop each image at random after padding it with 0, and mirror about half of them."""
    n = len(images)
    corner = torch.randint(0, 2 * _PADDING + 1, (2, n, 1), generator=generator)
    flipped = torch.rand(n, 1, generator=generator) < 0.5
    return _crop_and_flip(images, corner, flipped, _PADDING), targets


def _crop_and_flip(images: Tensor, corner: Tensor, flipped: Tensor, padding: int) -> Tensor:
    """Cut a window out of each zero-padded image, and mirror it where `flipped` is true."""
    n, _, height, width = images.shape
    columns = torch.arange(width)
    rows = corner[0] + torch.arange(height)
    columns = corner[1] + torch.where(flipped, width - 1 - columns, columns)
    padded = functional.pad(images, (padding,) * 4).permute(0, 2, 3, 1)
    where = (torch.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :])
    cut = padded[tuple(index.to(images.device) for index in where)].permute(0, 3, 1, 2)
    return cut if _is_channels_last(images) else cut.contiguous()


def _is_channels_last(images: Tensor) -> bool:
    """Whether the images are stored channels-last; False where both layouts coincide."""
    last = images.is_contiguous(memory_format=torch.channels_last)
    return last and not images.is_contiguous()


def _noise(images: Tensor, targets: Tensor, generator: Generator, parameter: float) -> Batch:
    """Add Gaussian noise to all pixels."""
    noise = torch.randn(images.shape, generator=generator, dtype=images.dtype)
    return images + _NOISE * noise.to(images.device), targets


def _cutout(images: Tensor, targets: Tensor, generator: Generator, parameter: float) -> Batch:
    """Set a random square of each image to 0."""
    n, _, height, width = images.shape
    side = max(1, min(height, width) // 4)

    def in_square(length: int) -> Tensor:
        start = torch.randint(0, length, (n, 1), generator=generator) - side // 2
        positions = torch.arange(length)
        return (positions >= start) & (positions < start + side)

    hidden = in_square(height)[:, None, :, None] & in_square(width)[:, None, None, :]
    return images.masked_fill(hidden.to(images.device), 0.0), targets


def _mixup(images: Tensor, targets: Tensor, generator: Generator, parameter: float) -> Batch:
    """Mix each image and target with another's, with one uniform weight for the batch."""
    weight = torch.rand((), generator=generator, dtype=images.dtype)
    return _mix_images(images, targets, weight, generator)


def _basic_mixup(images: Tensor, targets: Tensor, generator: Generator, alpha: float) -> Batch:
    """Crop and mirror; then mix each image with another, with one Beta weight for the batch."""
    images, targets = _basic(images, targets, generator, 0.0)
    weight = torch.tensor(draw_beta(alpha, 1, generator)[0], dtype=images.dtype)
    return _mix_images(images, targets, weight, generator)


def _mix_images(images: Tensor, targets: Tensor, weight: Tensor, generator: Generator) -> Batch:
    """Mix each image and target with those of a random image of the batch."""
    other = torch.randperm(len(images), generator=generator).to(images.device)
    weight = weight.to(images.device)
    return torch.lerp(images[other], images, weight), torch.lerp(targets[other], targets, weight)


def _basic_cutmix(images: Tensor, targets: Tensor, generator: Generator, alpha: float) -> Batch:
    """Crop and mirror; in half of the batches, paste in a box of another image."""
    images, targets = _basic(images, targets, generator, 0.0)
    if torch.rand((), generator=generator) >= _CUTMIX_PROBABILITY:
        return images, targets
    height, width = images.shape[2:]
    side = float(np.sqrt(1.0 - draw_beta(alpha, 1, generator)[0]))
    bounds = []
    for length in (height, width):
        centre = int(torch.randint(0, length, (), generator=generator))
        half = int(length * side) // 2
        bounds.append((max(0, centre - half), min(length, centre + half)))
    (top, bottom), (left, right) = bounds
    other = torch.randperm(len(images), generator=generator).to(images.device)
    images = images.clone()
    images[:, :, top:bottom, left:right] = images[other, :, top:bottom, left:right]
    # The weight counts only the part of the box within the image.
    weight = 1 - (bottom - top) * (right - left) / (height * width)
    return images, weight * targets + (1 - weight) * targets[other]


def _basic_ricap(images: Tensor, targets: Tensor, generator: Generator, beta: float) -> Batch:
    """Crop and mirror; then join crops of four images to one (RICAP)."""
    images, targets = _basic(images, targets, generator, 0.0)
    height, width = images.shape[2:]
    shares = draw_beta(beta, 2, generator)
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


def draw_beta(parameter: float, n: int, generator: Generator) -> list[float]:
    """Draw n numbers from Beta(p, p) with NumPy, as torch's distribution takes no generator."""
    seed = int(torch.randint(0, 2**63 - 1, (), generator=generator))
    draws = np.random.default_rng(seed).beta(parameter, parameter, n)
    return [float(draw) for draw in draws]


_AUGMENTATIONS: dict[str, Callable[[Tensor, Tensor, Generator, float], Batch]] = {
    function.__name__.removeprefix("_"): function
    for function in (
        _none, _shift, _noise, _cutout, _mixup, _basic, _basic_mixup, _basic_cutmix, _basic_ricap,
    )
}  # fmt: skip
