"""Estimates of the sizes of datasets and networks, for resource requests. Imports no torch.

Memory and time of a job are requested before it starts, when no model has been built and no image
read. The estimates should be correct within a factor of two to three; a job whose request was too
small is repeated with more (see `resources`). They affect no results.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matcheval.io.json_files import read_json

# Floating-point operations per second that even a slow processor core or GPU reaches.
CORE_FLOPS, GPU_FLOPS = 5e9, 5e12
# Images that one core decodes and resizes, and values (pixels times channels) of corrupted images
# that one makes, per second.
DECODED_PER_SECOND, MADE_PER_SECOND = 150, 2e6
MANY_FEATURES = 2048  # of a model, before it is run


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


# Sizes by what the names of kinds of datasets begin with, used until the dataset is prepared and
# its description has the true size. Unknown kinds are assumed to be as large as ImageNet's
# validation set.
DIGITS = ImageSet(600, 8, 1)
CIFAR = ImageSet(50_000, 32)
IMAGENET = ImageSet(50_000, 224, classes=1000, encoded=True)
_KINDS = {
    "digits": DIGITS, "cifar": CIFAR, "cinic": ImageSet(90_000, 32),
    "warehouse_set": ImageSet(8000, 32),
}  # fmt: skip


def size_of_kind(kind: str) -> ImageSet:
    """Return the size of datasets of a kind."""
    return next((size for name, size in _KINDS.items() if kind.startswith(name)), IMAGENET)


def together(sets: Iterable[ImageSet]) -> ImageSet:
    """Return the size of several datasets of images of one shape."""
    several = list(sets)
    return dataclasses.replace(several[0], images=sum(one.images for one in several))


@functools.cache
def prepared_size(folder: Path, guess: ImageSet) -> ImageSet:
    """Read the size of a dataset from its description, if it is prepared."""
    description = folder / "dataset.json"
    if not description.is_file():
        return guess
    content = read_json(description, remedy="Delete the folder and build the dataset again")
    known = dataclasses.replace(guess, images=content["n"], classes=content["n_classes"])
    shape = content.get("shape")
    if shape is None:
        try:
            shape = np.load(folder / "images.npy", mmap_mode="r").shape
        except (OSError, ValueError, EOFError):  # the jobs that read them tell it
            return known
    if len(shape) != 4:  # image files, stored one after the other
        return dataclasses.replace(known, encoded=True)
    return dataclasses.replace(known, side=max(shape[1:3]), channels=shape[3], encoded=False)


@dataclass(frozen=True)
class ModelSize:
    """Size of a model."""

    parameters: int
    multiply_adds: int
    kept: int = 0


# A published model of unknown size: assumed to be as large as ViT-L or ConvNeXt-L, as few models
# are larger.
_UNKNOWN_MILLIONS = 300
UNKNOWN_PUBLISHED = ModelSize(_UNKNOWN_MILLIONS * 1_000_000, multiply_adds=60_000_000_000)

# Published networks for 32 × 32 images: 10⁹ multiply-adds, 10⁶ kept values, and the width (of
# ResNeXt: per group) and depth to which these apply; and the 10⁶ weights of networks that have far
# fewer than 3 × 3 convolutions between all channels would. Multiply-adds grow with width² × depth ×
# groups, kept values with width × depth × groups, weights with width² × depth.
_FOR_CIFAR: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("vgg", "vgg_three_linear"), (0.314, 0.9, 64, 16)),
    **dict.fromkeys(("resnet_a", "resnet_b", "seresnet_a", "preact"), (0.041, 0.5, 16, 20)),
    **dict.fromkeys(("resnet_imagenet", "seresnet_imagenet"), (0.56, 3.0, 64, 18)),
    **dict.fromkeys(("preact_imagenet", "preact_unnormed", "sepreact_unnormed"),
                    (0.56, 2.0, 64, 18)),
    "resnet_7x7": (0.037, 0.06, 64, 18),
    "preact_bottleneck": (0.26, 6.4, 16, 164),
    "densenet": (0.3, 10.0, 12, 100),
    "densenet_imagenet": (0.89, 11.8, 32, 121, 7.0),
    "resnext": (0.68, 3.2, 64, 29),
    "resnext_doubling": (1.1, 9.8, 128, 29, 9.1),
    "shake_shake": (0.43, 3.1, 32, 26),
    "pyramidnet": (0.65, 5.7, 84, 110),
    "shufflenet": (0.039, 1.9, 220, 50, 0.9),
    "shufflenet_v2": (0.045, 1.6, 116, 51, 1.3),
    "dpn": (2.04, 16.5, 96, 92, 34.2),
    "efficientnet": (0.030, 1.9, 32, 49, 3.6),
    "efficientnet_lite": (0.009, 0.2, 32, 50, 3.4),
    "googlenet": (1.52, 9.1, 192, 29, 6.2),
    "mobilenet": (0.046, 1.6, 32, 28, 3.2),
    "mobilenet_v2": (0.091, 5.1, 32, 54, 2.3),
    "pnasnet_a": (0.028, 1.7, 44, 22, 0.13),
    "pnasnet_b": (0.075, 3.8, 32, 42, 0.45),
    "regnet_x": (0.20, 6.0, 24, 41, 2.3),
    "regnet_y": (0.20, 6.0, 24, 41, 2.9),
    "repvgg": (0.49, 2.1, 48, 23, 7.8),
}  # fmt: skip

# Architectures that are estimated with four stages, like the ResNets for ImageNet; all others have
# three, like the ResNets for CIFAR.
_FOUR_STAGES = (
    "vgg", "vgg_three_linear", "resnet_imagenet", "resnet_7x7", "preact_imagenet",
    "preact_unnormed", "seresnet_imagenet", "sepreact_unnormed",
)  # fmt: skip


def size_of_architecture(
    architecture: str, width: int, depth: int, data: ImageSet, *, groups: int = 1
) -> ModelSize:
    """Estimate the size of a model from its architecture."""
    pixels = data.side**2
    inputs = pixels * data.channels
    if architecture == "linear":
        weights = (inputs + 1) * data.classes
        return ModelSize(weights, weights)
    if architecture == "mlp":
        sizes = [inputs, *[width] * depth, data.classes]
        weights = sum((a + 1) * b for a, b in itertools.pairwise(sizes))
        return ModelSize(weights, weights)
    if architecture == "resnext_doubling":
        width *= groups
    if architecture in ("resnext_doubling", "dpn", "shufflenet"):
        groups = 1  # They split the channels, and add none.
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
    billions, millions, table_width, table_depth, *weighing = _FOR_CIFAR[architecture]
    scale = width / table_width * depth / table_depth * groups * (data.side / 32) ** 2
    weights = size.parameters
    if weighing:
        weights = int(1e6 * weighing[0] * (width / table_width) ** 2 * depth / table_depth)
    operations = int(1e9 * billions * scale * width / table_width)
    return ModelSize(weights, operations, int(1e6 * millions * scale))


def _convolutions(stages: list[tuple[int, int]], data: ImageSet) -> ModelSize:
    """Sum the sizes of stages, given as (channels, layers); each halves height and width."""
    side, before, weights, operations, kept = data.side, data.channels, 0, 0, 0
    for channels, layers in stages:
        of_layers = 9 * channels * (before + (layers - 1) * channels)
        weights += of_layers
        operations += of_layers * side**2
        kept += 3 * layers * channels * side**2  # of convolution, normalisation and activation
        before, side = channels, max(1, side // 2)
    # The classifier reads the last feature map or its mean; assumed is the map, which is larger.
    last = before * side**2 * data.classes
    return ModelSize(weights + last, operations + last, kept)


# Parts of names, and millions of weights that they indicate; the first match counts.
_NAMED_SIZES = (
    (("enormous", "giant", "gigantic", "bigg", "_g_"), 2_000),
    (("huge", "xxlarge", "_h_"), 900),
    (("xlarge", "large", "_l_"), 350),
    (("base", "_b_"), 110),
    (("small", "_s_", "medium", "_m_", "resnet", "resnext", "densenet", "inception"), 70),
    (("tiny", "nano", "pico", "femto", "atto", "mobile", "efficientnet_b", "mnas"), 30),
    (("efficientnet_lite",), 15),
    (("vgg", "alexnet"), 145),
)


def size_of_published(name: str, *, side: int = 224) -> ModelSize:
    """Estimate the size of a published model from its name."""
    wrapped = f"_{name.lower()}_".replace(".", "_").replace("-", "_")
    found = (size for parts, size in _NAMED_SIZES if any(part in wrapped for part in parts))
    weights = 1_000_000 * next(found, _UNKNOWN_MILLIONS)
    return ModelSize(weights, int(200 * weights * (side / 224) ** 2))
