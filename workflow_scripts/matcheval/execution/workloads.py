"""How large models and datasets are, estimated before either exists: for resources, not results.

A job's memory and time are asked for before it starts, when no model is built and no image read.
The estimates are meant to be right within a factor of two to three; a request that was too small is
made again with more (`resources`). Imports no torch.
"""

import dataclasses
import functools
import itertools
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matcheval.errors import InputError


@dataclass(frozen=True)
class ImageSet:
    """How much there is of a dataset.

    Attributes
    ----------
    images : int
        Number of images.
    side : int
        Height and width, in pixels, as a model sees them.
    channels : int
        Of a pixel.
    classes : int
        Number of classes.
    encoded : bool
        Whether images are decoded from files when they are read.
    """

    images: int
    side: int
    channels: int = 3
    classes: int = 10
    encoded: bool = False

    @property
    def pixel_bytes(self) -> int:
        """Bytes of all images as arrays."""
        return self.images * self.side**2 * self.channels


# What a kind of dataset amounts to, until it is prepared and says so itself. An unknown kind is
# taken to be as large as ImageNet's validation set.
DIGITS = ImageSet(600, 8, 1)
CIFAR = ImageSet(50_000, 32)
IMAGENET = ImageSet(50_000, 224, classes=1000, encoded=True)
CINIC = ImageSet(90_000, 32)
KINDS = {"digits": DIGITS, "cifar": CIFAR, "cinic": CINIC, "imagenet": IMAGENET}


@dataclass(frozen=True)
class ModelSize:
    """How large a model is.

    Attributes
    ----------
    parameters : int
        Number of weights.
    multiply_adds : int
        Multiply-accumulate operations for one image.
    kept : int
        Values of one image that training keeps for the backward pass.
    """

    parameters: int
    multiply_adds: int
    kept: int = 0


# A published model that nothing is known of: as large as ViT-L or ConvNeXt-L, of which there are
# few larger ones.
UNKNOWN_PUBLISHED = ModelSize(parameters=300_000_000, multiply_adds=60_000_000_000)

# Of the published networks for 32 × 32 images, at a width and depth (of ResNeXt per group): 10⁹
# multiply-adds, which grow as width² × depth × groups, and 10⁶ kept values, which grow as width ×
# depth × groups.
_FOR_CIFAR = {
    "vgg": (0.314, 0.9, 64, 16),
    "resnet_a": (0.041, 0.5, 16, 20),
    "resnet_imagenet": (0.56, 3.0, 64, 18),
    "densenet": (0.3, 10.0, 12, 100),
    "resnext": (0.68, 3.2, 64, 29),
    "preact": (0.041, 0.5, 16, 20),
    "preact_bottleneck": (0.26, 6.4, 16, 164),
    "preact_imagenet": (0.56, 2.0, 64, 18),
    "shake_shake": (0.43, 3.1, 32, 26),
    "pyramidnet": (0.65, 5.7, 84, 110),
    "seresnet_a": (0.041, 0.5, 16, 20),
    "seresnet_imagenet": (0.56, 3.0, 64, 18),
}

# Architectures of four stages that begin with a quarter of the image's height and width when they
# are made for ImageNet; all others have three (as the ResNets for CIFAR).
_FOUR_STAGES = ("vgg", "resnet_imagenet", "preact_imagenet", "seresnet_imagenet")


def size_of_architecture(
    architecture: str, width: int, depth: int, data: ImageSet, *, groups: int = 1
) -> ModelSize:
    """Estimate a model that is described by its architecture.

    `linear` and `mlp` are exact. Operations of the published networks for CIFAR-10 come from a
    table; everything else is taken for `depth` 3 × 3 convolutions in equal
    stages, each with twice the channels and half the height and width of the one before, which
    is what the residual networks of He et al. (2016) are. Our `cnn` keeps its width; our `resnet`
    has a block of two convolutions per stage.

    Parameters
    ----------
    architecture : str
        Name; unknown ones are taken for convolutional.
    width, depth : int
        As in the catalogue.
    data : ImageSet
        What it is trained on.
    groups : int
        Branches or groups, for architectures that have them.

    Returns
    -------
    ModelSize
    """
    pixels = data.side**2
    inputs = pixels * data.channels
    if architecture == "linear":
        weights = (inputs + 1) * data.classes
        return ModelSize(weights, weights)
    if architecture == "mlp":
        sizes = [inputs, *[width] * depth, data.classes]
        weights = sum((a + 1) * b for a, b in itertools.pairwise(sizes))
        return ModelSize(weights, weights)
    if architecture == "cnn":
        stages = [(width, 1)] * depth
    elif architecture == "resnet":
        stages = [(width << i, 2) for i in range(depth)]
    else:
        number = 4 if architecture in _FOUR_STAGES else 3
        channels = width // 4 if architecture == "pyramidnet" else width * math.sqrt(groups)
        stages = [(int(channels * 2**i), math.ceil(depth / number)) for i in range(number)]
    size = _convolutions(stages, data)
    if architecture not in _FOR_CIFAR:
        return size
    billions, millions, table_width, table_depth = _FOR_CIFAR[architecture]
    scale = width / table_width * depth / table_depth * groups * (data.side / 32) ** 2
    return ModelSize(
        size.parameters,
        int(1e9 * billions * scale * width / table_width),
        int(1e6 * millions * scale),
    )


def _convolutions(stages: list[tuple[int, int]], data: ImageSet) -> ModelSize:
    """Sum over stages of (channels, layers); the map is halved after each."""
    side, before, weights, operations, kept = data.side, data.channels, 0, 0, 0
    for channels, layers in stages:
        of_layers = 9 * channels * (before + (layers - 1) * channels)
        weights += of_layers
        operations += of_layers * side**2
        kept += 3 * layers * channels * side**2  # of a convolution, its norm and activation
        before, side = channels, max(1, side // 2)
    # A classifier reads the last map whole, or its mean: the former is the larger one.
    last = before * side**2 * data.classes
    return ModelSize(weights + last, operations + last, kept)


def size_of_published(name: str, *, parameters: float | None = None, side: int = 224) -> ModelSize:
    """Estimate a published model by what its name says of its size.

    Parameters
    ----------
    name : str
        As timm or torchvision have it.
    parameters : float, optional
        Its number of weights, where known; this one is believed.
    side : int
        Height and width it takes, in pixels.

    Returns
    -------
    ModelSize
        Operations from weights by the ratio of today's convolutional networks and transformers at
        224 × 224 (200 per weight), growing with the number of pixels.
    """
    weights = int(parameters) if parameters else _weights_by_name(name)
    return ModelSize(weights, int(200 * weights * (side / 224) ** 2))


# Parts of names, largest models first; millions of weights.
_NAMED_SIZES = (
    (("enormous", "giant", "gigantic"), 2_000),
    (("huge", "xxlarge"), 900),
    (("xlarge", "large", "_l_"), 350),
    (("base", "_b_"), 110),
    (("small", "_s_", "medium", "_m_", "resnet", "resnext", "densenet", "inception"), 70),
    (("tiny", "nano", "pico", "femto", "atto", "mobile", "efficientnet_b", "mnas"), 30),
    (("vgg", "alexnet"), 145),
)


def _weights_by_name(name: str) -> int:
    wrapped = f"_{name.lower()}_".replace(".", "_").replace("-", "_")
    for parts, millions in _NAMED_SIZES:
        if any(part in wrapped for part in parts):
            return millions * 1_000_000
    return UNKNOWN_PUBLISHED.parameters


def size_of_dataset(kind: str, folder: str | Path | None = None) -> ImageSet:
    """Say how large a dataset is: as its own description has it, or by its kind.

    Parameters
    ----------
    kind : str
        As in the configuration; the longest name in `KINDS` that it begins with counts.
    folder : path-like, optional
        Where it lies once it is prepared.

    Raises
    ------
    InputError
        If there is a description that cannot be read.
    """
    known = [name for name in KINDS if kind.startswith(name)]
    guess = KINDS[max(known, key=len)] if known else IMAGENET
    return _read_size(Path(folder), guess) if folder is not None else guess


@functools.cache
def _read_size(folder: Path, guess: ImageSet) -> ImageSet:
    """Take what a prepared dataset says of itself; the guess while there is none."""
    description = folder / "dataset.json"
    if not description.is_file():
        return guess
    try:
        content = json.loads(description.read_text(encoding="utf-8"))
        images, classes = int(content["n"]), int(content["n_classes"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"does not tell the number of images and classes ({error})",
            file=description,
            remedy="Delete the folder and build the dataset again",
        ) from error
    known = dataclasses.replace(guess, images=images, classes=classes)
    shape = np.load(folder / "images.npy", mmap_mode="r").shape
    if len(shape) != 4:  # encoded files, one after the other
        return dataclasses.replace(known, encoded=True)
    return dataclasses.replace(known, side=max(shape[1:3]), channels=shape[3], encoded=False)
