"""Training data on the training device: uint8 images, uploaded once, and batches of them."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from matcheval.datasets.dataset import Dataset
from matcheval.errors import InputError
from matcheval.models.transforms import IMAGENET_MEAN, IMAGENET_STD
from matcheval.training.options import check_n_sources
from matcheval.training.recipe import Recipe

_CHUNK = 4096  # images per partial sum of the channel statistics


class ResidentSet:
    """A dataset's images and labels, uploaded to the memory of a device."""

    def __init__(self, dataset: Dataset, device: torch.device, channels_last: bool) -> None:
        images = torch.from_numpy(np.array(dataset.pixels)).permute(0, 3, 1, 2)
        layout = torch.channels_last if channels_last else torch.contiguous_format
        # `clone` sets the strides of the layout even for one channel, where all layouts coincide
        # in memory: torch chooses its convolution algorithm by the strides.
        self.images: Tensor = images.clone(memory_format=layout).to(device)
        self.labels = torch.from_numpy(dataset.labels.astype(np.int64)).to(device)
        self.n_classes, self.max_value = dataset.n_classes, dataset.max_value

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.labels)

    def batch(self, rows: Tensor | slice) -> tuple[Tensor, Tensor]:
        """Return images as floats in [0, 1], and one-hot targets, of the rows."""
        targets = functional.one_hot(self.labels[rows], self.n_classes).float()
        if self.images.is_contiguous():
            pixels = self.images[rows]
        else:  # indexed in memory order, so that the result is channels-last as well
            pixels = self.images.permute(0, 2, 3, 1)[rows].permute(0, 3, 1, 2)
        return pixels.float() / self.max_value, targets


def channel_statistics(*datasets: Dataset) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Compute the mean and standard deviation of each channel over all pixels of datasets."""
    height, width, channels = datasets[0].image_shape
    max_value = datasets[0].max_value
    kind = np.float64 if datasets[0].has_vectors else np.int64
    sums, squares = np.zeros(channels, kind), np.zeros(channels, kind)
    for dataset in datasets:
        for start in range(0, len(dataset), _CHUNK):
            chunk = np.asarray(dataset.pixels[start : start + _CHUNK])
            values = chunk.reshape(-1, channels).astype(kind)
            sums += values.sum(axis=0)
            squares += (values * values).sum(axis=0)
    n = sum(map(len, datasets)) * height * width
    mean = sums / n
    std = np.sqrt(np.maximum(squares / n - mean**2, 0.0)) / max_value
    return tuple((mean / max_value).tolist()), tuple(np.where(std > 0, std, 1.0).tolist())


def normalization_constants(
    datasets: Sequence[Dataset], normalization: str
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the means and standard deviations of channels by which a recipe normalises."""
    if normalization == "channels":
        return channel_statistics(*datasets)
    channels = datasets[0].image_shape[2]
    if normalization == "half":
        return (0.5,) * channels, (0.5,) * channels
    if normalization == "imagenet":
        if channels != len(IMAGENET_MEAN):
            problem = f"is imagenet, but images of {datasets[0].name} have {channels} channels"
            raise InputError(problem, field="normalization", remedy="Use channels, half or none")
        return IMAGENET_MEAN, IMAGENET_STD
    return (0.0,) * channels, (1.0,) * channels


def draw_batches(
    rows: npt.NDArray[np.int64], n_batches: int, batch_size: int, rng: np.random.Generator
) -> list[npt.NDArray[np.int64]]:
    """Draw the rows of an epoch's batches from one training set, shuffled anew when used up."""
    per_pass = math.ceil(len(rows) / batch_size)
    drawn: list[npt.NDArray[np.int64]] = []
    while len(drawn) < n_batches:
        drawn += np.array_split(rng.permutation(rows), per_pass)
    return [np.sort(batch) for batch in drawn[:n_batches]]


def draw_subset(n: int, fraction: float, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw a fraction of n rows, at least one, without replacement; return them sorted."""
    return np.sort(rng.permutation(n)[: max(1, round(fraction * n))])


_FOR_VECTORS = ("none", "noise", "mixup")  # augmentations that need no neighbouring pixels


def check_sources(name: str, recipe: Recipe, train_sets: Sequence[Dataset]) -> None:
    """Check that a recipe can train on the training sets: their number, kind, size and classes."""
    check_n_sources(recipe.algorithm, len(train_sets), name)
    if train_sets[0].has_vectors and recipe.augmentation not in _FOR_VECTORS:
        problem = f"is {recipe.augmentation}, but {train_sets[0].name} consists of vectors"
        remedy = f"Give {' or '.join(_FOR_VECTORS)}"
        raise InputError(problem, file=name, field="augmentation", remedy=remedy)
    if len(train_sets) == 1:
        return
    for dataset in train_sets:
        n = max(1, round(recipe.train_fraction * len(dataset)))
        if n < recipe.batch_size:
            problem = f"is {recipe.batch_size}, but {dataset.name} has {n} images to train on"
            remedy = f"Give at most {n}: every step takes a batch of each training set"
            raise InputError(problem, file=name, field="batch_size", remedy=remedy)
        classes = np.unique(dataset.labels)
        if len(classes) < 2:
            problem = f"{dataset.name} has images of class '{dataset.classes[classes[0]]}' only"
            remedy = "Use training sets with images of at least two classes"
            raise InputError(problem, file=name, field="train", remedy=remedy)
