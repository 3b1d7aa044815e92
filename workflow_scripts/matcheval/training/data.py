"""Training data on the training device: uint8 images, uploaded once, and batches of them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from matcheval.datasets.folders import Dataset
from matcheval.errors import InputError

_CHUNK = 4096  # images whose statistics are summed at a time


@dataclass(frozen=True, eq=False)
class ResidentSet:
    """A dataset's images and labels in the memory of a device.

    Attributes
    ----------
    images : uint8 tensor, shape (n, channels, height, width)
        Pixels; in memory the channels come last if so asked for.
    labels : int64 tensor, shape (n,)
    n_classes, max_value : int
        As of the `Dataset`.
    """

    images: Tensor
    labels: Tensor
    n_classes: int
    max_value: int

    @classmethod
    def of(
        cls, dataset: Dataset, device: torch.device, *, channels_last: bool = False
    ) -> "ResidentSet":
        """Upload a dataset."""
        images = torch.from_numpy(np.array(dataset.pixels)).permute(0, 3, 1, 2)
        layout = torch.channels_last if channels_last else torch.contiguous_format
        return cls(
            # A clone has the layout's strides even where one channel makes all layouts alike:
            # torch chooses its convolution by them.
            images.clone(memory_format=layout).to(device),
            torch.from_numpy(dataset.labels.astype(np.int64)).to(device),
            dataset.n_classes,
            dataset.max_value,
        )

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.labels)

    def batch(self, rows: Tensor | slice) -> tuple[Tensor, Tensor]:
        """Images in [0, 1] as float32 NCHW, and one-hot targets (n, n_classes).

        Parameters
        ----------
        rows : slice, or int64 tensor on the device
        """
        targets = functional.one_hot(self.labels[rows], self.n_classes).float()
        if self.images.is_contiguous():
            pixels = self.images[rows]
        else:  # through the order of the memory, which indexing keeps
            pixels = self.images.permute(0, 2, 3, 1)[rows].permute(0, 3, 1, 2)
        return pixels.float() / self.max_value, targets


def channel_statistics(dataset: Dataset) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel over all pixels of a dataset.

    Returns
    -------
    mean, std : tuple of float
        Of pixels in [0, 1]; the deviation of a channel of one value is given as 1. The sums are
        of integers, so that they are exact.
    """
    channels = dataset.image_shape[2]
    sums, squares = np.zeros(channels, np.int64), np.zeros(channels, np.int64)
    for start in range(0, len(dataset), _CHUNK):
        chunk = np.asarray(dataset.pixels[start : start + _CHUNK])
        values = chunk.reshape(-1, channels).astype(np.int64)
        sums += values.sum(axis=0)
        squares += (values * values).sum(axis=0)
    n = len(dataset) * dataset.image_shape[0] * dataset.image_shape[1]
    mean = sums / n
    std = np.sqrt(np.maximum(squares / n - mean**2, 0.0)) / dataset.max_value
    return (
        tuple((mean / dataset.max_value).tolist()),
        tuple(np.where(std > 0, std, 1.0).tolist()),
    )


def normalization_of(
    dataset: Dataset, normalization: str
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Means and deviations that a recipe's `normalization` means for a training set."""
    if normalization == "channels":
        return channel_statistics(dataset)
    channels = dataset.image_shape[2]
    return (0.0,) * channels, (1.0,) * channels


def subset(n: int, fraction: float, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Rows to train on: a random part of them, the nearest number and at least one."""
    return np.sort(rng.permutation(n)[: max(1, round(fraction * n))])


def check_sets(name: str, train_set: Dataset, validation_set: Dataset) -> None:
    """Refuse sets that do not go together.

    Raises
    ------
    InputError
        Naming what differs, of classes those that do.
    """
    ours, theirs = train_set.classes, validation_set.classes
    if ours != theirs:
        raise InputError(
            _difference(ours, theirs, train_set.name, validation_set.name),
            file=name,
            field="classes",
            remedy="Train and validate on sets of one label space",
        )
    for what in ("image_shape", "max_value"):
        here, there = getattr(train_set, what), getattr(validation_set, what)
        if here != there:
            raise InputError(
                f"is {there} in {validation_set.name}, but {here} in {train_set.name}",
                file=name,
                field=what,
                remedy="Train and validate on sets of one kind",
            )


def _difference(
    ours: tuple[str, ...], theirs: tuple[str, ...], our_name: str, their_name: str
) -> str:
    """What is different between two label spaces, in words."""
    parts = [
        f"only {name} has {_some([c for c in one if c not in other])}"
        for one, other, name in ((ours, theirs, our_name), (theirs, ours, their_name))
        if set(one) - set(other)
    ]
    if parts:
        return "; ".join(parts)
    if len(ours) != len(theirs):
        return f"{our_name} has {len(ours)} classes, {their_name} {len(theirs)}"
    label = next(i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
    return (
        f"their order differs: label {label} is '{ours[label]}' in {our_name}, "
        f"'{theirs[label]}' in {their_name}"
    )


def _some(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"'{name}'" for name in names[:most]) + more
