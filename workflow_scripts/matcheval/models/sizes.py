"""The architectures and the sizes that they can have. Does not import torch."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from matcheval.errors import InputError


class Sizes(NamedTuple):
    """Depths or widths that an architecture can have, in words and as a condition."""

    text: str
    include: Callable[..., bool]


_ANY = Sizes("at least 1", lambda *size: size[0] >= 1)


@dataclass(frozen=True)
class Architecture:
    """What is known of an architecture without building it: its family and possible sizes.

    The condition on widths is one of width, depth and groups.
    """

    family: str
    width: str
    depths: Sizes
    min_side: int = 1
    grouped: bool = False
    widths: Sizes = _ANY
    dropout: float = 0.0


def _one_of(*depths: int) -> Sizes:
    return Sizes(" or ".join(map(str, depths)), depths.__contains__)


def _three_stages(layers: int, least: int, fixed: int = 2) -> Sizes:
    """Return the depths `layers` × n + `fixed`, of networks with three stages of n blocks each."""
    return Sizes(
        f"{layers} n + {fixed}, at least {least}",
        lambda depth: depth >= least and (depth - fixed) % layers == 0,
    )


def _multiple_of(factor: int) -> Sizes:
    return Sizes(f"a multiple of {factor}", lambda width, depth, groups: width % factor == 0)


def _only(width_by_depth: Mapping[int, int]) -> Sizes:
    """Return the widths of an architecture with only one width for each depth."""
    text = " or ".join(f"{width} with depth {depth}" for depth, width in width_by_depth.items())
    return Sizes(text, lambda width, depth, groups: width == width_by_depth[depth])


def _is_shufflenet_width(width: int, depth: int, groups: int) -> bool:
    # The units' inner channels are a quarter of their own, and the first unit has width − 24.
    return width > 24 and width % (4 * groups) == 24 % (4 * groups) == 0


_CHANNELS = "channels of the first stage"
_STEM = "channels of the stem"
_STAGES = _one_of(18, 34, 50, 101)

# Families are those of Table 2 of the paper and of Table 5 of Sun et al. (2024),
# CIFAR-10-Warehouse; the networks of the family `small` accept images of any size.
SPECIFICATIONS = {
    "linear": Architecture("small", "none: 0", _one_of(0)),
    "mlp": Architecture("small", "units of a layer", _ANY),
    "cnn": Architecture("small", "channels", _ANY),
    "resnet": Architecture("small", _CHANNELS, _ANY),
    "vgg": Architecture("VGG", _CHANNELS, _one_of(11, 13, 16, 19), min_side=32),
    "resnet_a": Architecture("ResNet", _CHANNELS, _three_stages(6, 8)),
    "resnet_imagenet": Architecture("ResNet", _CHANNELS, _STAGES),
    "densenet": Architecture("DenseNet", "growth rate", _three_stages(6, 10, 4), min_side=4),
    "resnext": Architecture(
        "ResNeXt", "channels of a group in the first stage", _three_stages(9, 11), grouped=True
    ),
    "preact": Architecture("PreActResNet", _CHANNELS, _three_stages(6, 8)),
    "preact_bottleneck": Architecture("PreActResNet", _CHANNELS, _three_stages(9, 11)),
    "preact_imagenet": Architecture("PreActResNet", _CHANNELS, _one_of(18, 34)),
    "shake_shake": Architecture(
        "ShakeShake", "channels of a branch in the first stage", _three_stages(6, 8)
    ),
    "pyramidnet": Architecture("PyramidNet", "channels added, α", _three_stages(6, 8), min_side=4),
    "seresnet_a": Architecture("SENet", _CHANNELS, _three_stages(6, 8)),
    "seresnet_imagenet": Architecture("SENet", _CHANNELS, _STAGES),
    "shufflenet": Architecture(
        "ShuffleNet", _CHANNELS, _one_of(50), grouped=True,
        widths=Sizes(
            "a multiple of 4 × groups above 24, with 1, 2, 3 or 6 groups", _is_shufflenet_width
        ),
    ),
    "shufflenet_v2": Architecture("ShuffleNet", _CHANNELS, _one_of(51), widths=_multiple_of(2)),
    "densenet_imagenet": Architecture("DenseNet", "growth rate", _one_of(121, 169), 8),
    "resnext_doubling": Architecture(
        "ResNeXt", "channels of a group in the first stage", _three_stages(9, 11), grouped=True
    ),
    "preact_unnormed": Architecture("PreActResNet", _CHANNELS, _STAGES),
    "sepreact_unnormed": Architecture("SENet", _CHANNELS, _one_of(18)),
    "dpn": Architecture(
        "DPN", "inner channels of the first stage", _one_of(26, 92), grouped=True,
        widths=Sizes(
            "a multiple of 12 and of groups",
            lambda width, depth, groups: width % 12 == width % groups == 0,
        ),
    ),
    "efficientnet": Architecture(
        "EfficientNet", _STEM, _one_of(49), widths=_only({49: 32}), dropout=0.2
    ),
    "googlenet": Architecture("GoogLeNet", _STEM, _one_of(29), widths=_multiple_of(12)),
    "mobilenet": Architecture("MobileNet", _STEM, _one_of(28), widths=_only({28: 32})),
    "mobilenet_v2": Architecture("MobileNet", _STEM, _one_of(54), widths=_multiple_of(4)),
    "pnasnet_a": Architecture("PNASNet", _CHANNELS, _one_of(22)),
    "pnasnet_b": Architecture("PNASNet", _CHANNELS, _one_of(42)),
    "regnet_x": Architecture("RegNet", _CHANNELS, _one_of(41, 68), widths=_only({41: 24, 68: 32})),
    "regnet_y": Architecture("RegNet", _CHANNELS, _one_of(41, 68), widths=_only({41: 24, 68: 32})),
    "resnet_b": Architecture("ResNet", _CHANNELS, _three_stages(6, 8)),
    "repvgg": Architecture("RepVGG", _CHANNELS, _one_of(23), widths=_multiple_of(3)),
    "vgg_three_linear": Architecture(
        "VGG", _CHANNELS, _one_of(11, 13, 16, 19), min_side=32, dropout=0.5
    ),
    "efficientnet_lite": Architecture("EfficientNet", _STEM, _one_of(50), widths=_only({50: 32})),
    "resnet_7x7": Architecture("ResNet", _CHANNELS, _STAGES, min_side=32),
}  # fmt: skip

ARCHITECTURES = tuple(SPECIFICATIONS)


def check_architecture(architecture: str, width: int, depth: int, groups: int = 1) -> None:
    """Raise an error unless an architecture exists and can have a width, depth and groups."""
    if architecture not in SPECIFICATIONS:
        raise InputError(
            f"unknown architecture '{architecture}'", remedy=f"Known: {', '.join(ARCHITECTURES)}"
        )
    for field, problem, remedy in _violations(architecture, width, depth, groups):
        raise InputError(problem, field=field, remedy=remedy)


def _violations(
    architecture: str, width: int, depth: int, groups: int
) -> Iterator[tuple[str, str, str]]:
    """Yield field, problem and remedy of each size that an architecture cannot have."""
    spec = SPECIFICATIONS[architecture]
    if architecture == "linear" and width != 0:
        yield "width", f"is {width}", "Give 0: linear has no width"
    for field, value in (("width", width), ("depth", depth)):
        if value < 1 and architecture != "linear":
            yield field, f"is {value}", "Give at least 1"
    if not spec.depths.include(depth):
        yield "depth", f"{architecture} cannot have depth {depth}", f"Give {spec.depths.text}"
    if groups < 1 or (groups != 1 and not spec.grouped):
        remedy = "Give at least 1" if spec.grouped else "Give 1, or leave it empty"
        yield "groups", f"{architecture} cannot have {groups} groups", remedy
    if architecture != "linear" and not spec.widths.include(width, depth, groups):
        size = f"width {width} with depth {depth} and {groups} groups"
        yield "width", f"{architecture} cannot have {size}", f"Give {spec.widths.text}"
