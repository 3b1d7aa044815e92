"""The architectures and the sizes that they can have. Does not import torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypedDict

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
WAREHOUSE_FAMILIES = (
    "ShuffleNet",
    "DPN",
    "EfficientNet",
    "GoogLeNet",
    "MobileNet",
    "PNASNet",
    "RegNet",
    "RepVGG",
)


@dataclass(frozen=True)
class Architecture:
    """Properties of an architecture that are known without building it."""

    family: str
    width: str
    depths: str
    has_depth: Callable[[int], bool]
    min_side: int = 1
    grouped: bool = False
    widths: str = "at least 1"
    has_width: Callable[[int, int, int], bool] = lambda width, depth, groups: True
    dropout: float = 0.0


def _any_depth(depth: int) -> bool:
    return depth >= 1


def _one_of(*depths: int) -> tuple[str, Callable[[int], bool]]:
    return " or ".join(map(str, depths)), depths.__contains__


def _per_block(layers: int, least: int, fixed: int = 2) -> tuple[str, Callable[[int], bool]]:
    """Depths `layers` × n + `fixed` of networks with three stages of n blocks each."""
    text = f"{layers} n + {fixed}, at least {least}"
    return text, lambda depth: depth >= least and (depth - fixed) % layers == 0


class _Widths(TypedDict):
    widths: str
    has_width: Callable[[int, int, int], bool]


def _multiple_of(factor: int) -> _Widths:
    return {
        "widths": f"a multiple of {factor}",
        "has_width": lambda width, depth, groups: width % factor == 0,
    }


def _only(by_depth: Mapping[int, int]) -> _Widths:
    text = " or ".join(f"{width} with depth {depth}" for depth, width in by_depth.items())
    return {"widths": text, "has_width": lambda width, depth, groups: width == by_depth[depth]}


def _shuffled_width(width: int, depth: int, groups: int) -> bool:
    # The units' inner channels are a quarter of their own, and the first unit has width − 24.
    return width > 24 and width % (4 * groups) == 24 % (4 * groups) == 0


_CHANNELS = "channels of the first stage"
_STEM = "channels of the stem"
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
    "shufflenet_v2": Architecture("ShuffleNet", _CHANNELS, *_one_of(51), **_multiple_of(2)),
    "densenet_imagenet": Architecture("DenseNet", "growth rate", *_one_of(121, 169), 8),
    "resnext_doubling": Architecture(
        "ResNeXt", "channels of a group in the first stage", *_per_block(9, 11), grouped=True
    ),
    "preact_unnormed": Architecture("PreActResNet", _CHANNELS, *_STAGES),
    "sepreact_unnormed": Architecture("SENet", _CHANNELS, *_one_of(18)),
    "dpn": Architecture(
        "DPN", "inner channels of the first stage", *_one_of(26, 92), grouped=True,
        widths="a multiple of 12 and of groups",
        has_width=lambda width, depth, groups: width % 12 == width % groups == 0,
    ),
    "efficientnet": Architecture(
        "EfficientNet", _STEM, *_one_of(49), **_only({49: 32}), dropout=0.2
    ),
    "googlenet": Architecture("GoogLeNet", _STEM, *_one_of(29), **_multiple_of(12)),
    "mobilenet": Architecture("MobileNet", _STEM, *_one_of(28), **_only({28: 32})),
    "mobilenet_v2": Architecture("MobileNet", _STEM, *_one_of(54), **_multiple_of(4)),
    "pnasnet_a": Architecture("PNASNet", _CHANNELS, *_one_of(22)),
    "pnasnet_b": Architecture("PNASNet", _CHANNELS, *_one_of(42)),
    "regnet_x": Architecture("RegNet", _CHANNELS, *_one_of(41, 68), **_only({41: 24, 68: 32})),
    "regnet_y": Architecture("RegNet", _CHANNELS, *_one_of(41, 68), **_only({41: 24, 68: 32})),
    "resnet_b": Architecture("ResNet", _CHANNELS, *_per_block(6, 8)),
    "repvgg": Architecture("RepVGG", _CHANNELS, *_one_of(23), **_multiple_of(3)),
    "vgg_three_linear": Architecture(
        "VGG", _CHANNELS, *_one_of(11, 13, 16, 19), min_side=32, dropout=0.5
    ),
    "efficientnet_lite": Architecture("EfficientNet", _STEM, *_one_of(50), **_only({50: 32})),
    "resnet_7x7": Architecture("ResNet", _CHANNELS, *_STAGES, min_side=32),
}  # fmt: skip

ARCHITECTURES = tuple(SPECIFICATIONS)


def check_architecture(architecture: str, width: int, depth: int, groups: int = 1) -> None:
    """Check that an architecture exists and can have a size."""
    if architecture not in SPECIFICATIONS:
        raise InputError(
            f"unknown architecture '{architecture}'", remedy=f"Known: {', '.join(ARCHITECTURES)}"
        )
    spec = SPECIFICATIONS[architecture]
    for field, value in (("width", width), ("depth", depth)):
        if value < 1 and architecture != "linear":
            raise InputError(f"is {value}", field=field, remedy="Give at least 1")
    if architecture == "linear" and width != 0:
        raise InputError(f"is {width}", field="width", remedy="Give 0: linear has no width")
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
