"""The architectures and the sizes that they can have. Does not import torch."""

from collections.abc import Callable
from dataclasses import dataclass

from matcheval.errors import InputError

# The families of Table 2 of the paper. The family `small` is added to them: its networks accept
# images of any size.
FAMILIES = (
    "VGG",
    "ResNet",
    "DenseNet",
    "ResNeXt",
    "PreActResNet",
    "ShakeShake",
    "PyramidNet",
    "SENet",
)

# Further families of Table 5 of Sun et al. (2024), CIFAR-10-Warehouse.
WAREHOUSE_FAMILIES = ("ShuffleNet",)


@dataclass(frozen=True)
class Architecture:
    """Properties of an architecture that are known without building it.

    Attributes
    ----------
    family : str
        One of `FAMILIES` or `WAREHOUSE_FAMILIES`, or `small`.
    width : str
        What its width counts.
    depths : str
        The possible depths in words, for messages.
    has_depth : callable
        Whether a given depth is possible.
    min_side : int
        Smallest height and width of the images, in pixels.
    grouped : bool
        Whether its convolutions can be split into groups.
    widths : str
        The possible widths in words, for messages.
    has_width : callable
        Whether a given width is possible at a given depth and number of groups.
    """

    family: str
    width: str
    depths: str
    has_depth: Callable[[int], bool]
    min_side: int = 1
    grouped: bool = False
    widths: str = "at least 1"
    has_width: Callable[[int, int, int], bool] = lambda width, depth, groups: True


def _any_depth(depth: int) -> bool:
    return depth >= 1


def _one_of(*depths: int) -> tuple[str, Callable[[int], bool]]:
    return " or ".join(map(str, depths)), depths.__contains__


def _per_block(layers: int, least: int, fixed: int = 2) -> tuple[str, Callable[[int], bool]]:
    """Depths `layers` × n + `fixed` of networks with three stages of n blocks each."""
    text = f"{layers} n + {fixed}, at least {least}"
    return text, lambda depth: depth >= least and (depth - fixed) % layers == 0


def _multiple_of(factor: int) -> tuple[str, Callable[[int, int, int], bool]]:
    return f"a multiple of {factor}", lambda width, depth, groups: width % factor == 0


def _shuffled_width(width: int, depth: int, groups: int) -> bool:
    # The units' inner channels are a quarter of their own, and the first unit has width − 24.
    return width > 24 and width % (4 * groups) == 24 % (4 * groups) == 0


_CHANNELS = "channels of the first stage"
_STAGES = _one_of(18, 34, 50, 101)

SPECIFICATIONS = {
    "linear": Architecture("small", "none: 0", "0", (0).__eq__),
    "mlp": Architecture("small", "units of a layer", "at least 1", _any_depth),
    "cnn": Architecture("small", "channels", "at least 1", _any_depth),
    "resnet": Architecture("small", _CHANNELS, "at least 1", _any_depth),
    "vgg": Architecture("VGG", _CHANNELS, *_one_of(11, 13, 16, 19), min_side=32),
    "resnet_a": Architecture("ResNet", _CHANNELS, *_per_block(6, 8)),
    "resnet_imagenet": Architecture("ResNet", _CHANNELS, *_STAGES),
    "densenet": Architecture("DenseNet", "growth rate", *_per_block(6, 10, 4), min_side=4),
    "resnext": Architecture(
        "ResNeXt", "channels of a group in the first stage", *_per_block(9, 11), grouped=True
    ),
    "preact": Architecture("PreActResNet", _CHANNELS, *_per_block(6, 8)),
    "preact_bottleneck": Architecture("PreActResNet", _CHANNELS, *_per_block(9, 11)),
    "preact_imagenet": Architecture("PreActResNet", _CHANNELS, *_one_of(18, 34)),
    "shake_shake": Architecture(
        "ShakeShake", "channels of a branch in the first stage", *_per_block(6, 8)
    ),
    "pyramidnet": Architecture("PyramidNet", "channels added, α", *_per_block(6, 8), min_side=4),
    "seresnet_a": Architecture("SENet", _CHANNELS, *_per_block(6, 8)),
    "seresnet_imagenet": Architecture("SENet", _CHANNELS, *_STAGES),
    "shufflenet": Architecture(
        "ShuffleNet", _CHANNELS, *_one_of(50), grouped=True,
        widths="a multiple of 4 × groups above 24, with 1, 2, 3 or 6 groups",
        has_width=_shuffled_width,
    ),
    "shufflenet_v2": Architecture(
        "ShuffleNet", _CHANNELS, *_one_of(51), 1, False, *_multiple_of(2)
    ),
}  # fmt: skip

ARCHITECTURES = tuple(SPECIFICATIONS)


def check_architecture(architecture: str, width: int, depth: int, groups: int = 1) -> None:
    """Check that an architecture exists and can have a size.

    Parameters
    ----------
    architecture : str
        One of `ARCHITECTURES`.
    width, depth, groups : int
        The size, as for `building.build_model`.

    Raises
    ------
    InputError
        If the architecture is unknown or cannot have the size; the message names the field.
    """
    if architecture not in SPECIFICATIONS:
        raise InputError(
            f"unknown architecture '{architecture}'", remedy=f"Known: {', '.join(ARCHITECTURES)}"
        )
    spec = SPECIFICATIONS[architecture]
    if architecture == "linear" and (width, depth) != (0, 0):
        raise InputError(
            f"linear has neither width nor depth, but they are {width} and {depth}",
            remedy="Give 0 and 0",
        )
    if architecture != "linear" and min(width, depth) < 1:
        raise InputError(
            f"{architecture} cannot have width {width} and depth {depth}",
            remedy="Give at least 1 for each",
        )
    if not spec.has_depth(depth):
        raise InputError(
            f"{architecture} cannot have depth {depth}",
            field="depth",
            remedy=f"Give {spec.depths}",
        )
    if groups < 1 or (groups != 1 and not spec.grouped):
        raise InputError(
            f"{architecture} cannot have {groups} groups",
            field="groups",
            remedy="Give at least 1" if spec.grouped else "Give 1, or leave it empty",
        )
    if not spec.has_width(width, depth, groups):
        raise InputError(
            f"{architecture} cannot have width {width} with depth {depth} and {groups} groups",
            field="width",
            remedy=f"Give {spec.widths}",
        )
