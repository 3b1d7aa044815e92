"""MobileNet, EfficientNet, ShuffleNet and RegNet: mostly separable or grouped convolutions.

All are for 32 × 32 images, except EfficientNet-Lite0: its stem and stages halve the image as
published (github tensorflow/tpu, models/official/efficientnet/lite), so that its weights fit.

References
----------
Howard et al. (2017), MobileNets. Sandler et al. (2018), MobileNetV2, table 2.
Tan & Le (2019), EfficientNet, table 1 (B0).
Zhang et al. (2018), ShuffleNet, table 1. Ma et al. (2018), ShuffleNet V2, table 5.
Radosavovic et al. (2020), Designing Network Design Spaces, tables of RegNetX and RegNetY.
github kuangliu/pytorch-cifar: stems, strides of the first layers, shortcuts of MobileNetV2, and a
RegNetY-400MF with the stages of RegNetX-400MF.
"""

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures import parts
from matcheval.models.architectures.parts import NetworkConfig, architecture

# Expansion, output channels for a stem of 32, blocks and stride of each stage of MobileNetV2.
_STAGES_V2 = (
    (1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
    (6, 320, 1, 1),
)  # fmt: skip


class _InvertedResidual(nn.Module):
    """MobileNetV2 block: expansion, depthwise convolution, projection; shortcut at stride 1."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = expansion * inputs
        self.layers = parts.bottleneck(inputs, inner, outputs, stride, inner)
        self.shortcut = parts.shortcut(inputs, outputs, 1) if stride == 1 else None

    def forward(self, x: Tensor) -> Tensor:
        inner: Tensor = self.layers(x)
        return inner if self.shortcut is None else inner + self.shortcut(x)


@architecture
def mobilenet(config: NetworkConfig) -> nn.Module:
    """Build timm's MobileNet with a stem of stride 1 and ReLU."""
    import timm

    model: Any = timm.create_model(
        "mobilenetv1_100", num_classes=config.n_classes, in_chans=config.channels, act_layer=nn.ReLU
    )
    model.conv_stem = parts.convolution(config.channels, config.width)
    return cast("nn.Module", model)


@architecture
def mobilenet_v2(config: NetworkConfig) -> nn.Module:
    """Build a MobileNetV2 that reduces height and width to an eighth."""
    inputs = config.width
    blocks = []
    for expansion, channels, number, stride in _STAGES_V2:
        outputs = channels * config.width // 32
        for block in range(number):
            step = stride if block == 0 else 1
            blocks.append(_InvertedResidual(inputs, outputs, step, expansion))
            inputs = outputs
    last = 1280 * config.width // 32
    return nn.Sequential(
        parts.normed(config.channels, config.width),
        *blocks,
        parts.normed(inputs, last, 1),
        *parts.classifier(last, config),
    )


@architecture
def efficientnet(config: NetworkConfig) -> nn.Module:
    """Build timm's EfficientNet-B0 with a stem of stride 1 and without the last convolution."""
    import timm

    model: Any = timm.create_model(
        "efficientnet_b0", num_classes=config.n_classes, in_chans=config.channels
    )
    model.conv_stem = parts.convolution(config.channels, config.width)
    blocks = [block for stage in model.blocks for block in stage]
    for i, block in enumerate(blocks):
        block.drop_path = parts.Dropout(0.2 * i / len(blocks), per_image=True)
    model.conv_head, model.bn2 = nn.Identity(), nn.Identity()
    model.global_pool = nn.Sequential(model.global_pool, parts.Dropout(0.2))
    model.classifier = nn.Linear(blocks[-1].bn3.num_features, config.n_classes)
    return cast("nn.Module", model)


@architecture
def efficientnet_lite(config: NetworkConfig) -> nn.Module:
    """Build timm's `tf_efficientnet_lite0`, without dropout."""
    import timm

    return timm.create_model(
        "tf_efficientnet_lite0", num_classes=config.n_classes, in_chans=config.channels
    )


_SHUFFLED_STEM = 24
_SHUFFLED_BLOCKS = (4, 8, 4)


class _ShuffleNetUnit(nn.Module):
    """ShuffleNet unit of grouped 1 × 1 convolutions, whose channels are shuffled in between."""

    def __init__(self, inputs: int, outputs: int, stride: int, groups: int) -> None:
        super().__init__()
        own = outputs - inputs if stride == 2 else outputs
        inner = own // 4
        self.groups = 1 if inputs == _SHUFFLED_STEM else groups
        self.first = parts.normed(inputs, inner, 1, groups=self.groups)
        self.depthwise = parts.normed(inner, inner, 3, stride, groups=inner)
        self.last = parts.normed(inner, own, 1, groups=groups, active=False)
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.channel_shuffle(self.first(x), self.groups)
        inner = self.last(self.depthwise(inner))
        if self.stride == 1:
            return functional.relu(inner + x)
        pooled = functional.avg_pool2d(x, 3, stride=2, padding=1)
        return functional.relu(torch.cat([inner, pooled], dim=1))


@architecture
def shufflenet(config: NetworkConfig) -> nn.Module:
    """Build a ShuffleNet with a 1 × 1 stem; all three stages halve the feature map."""
    widths = config.widths(3)
    # As all stages halve the map, a first stage without blocks precedes them.
    shapes = parts.stage_shapes(_SHUFFLED_STEM, [_SHUFFLED_STEM, *widths], [0, *_SHUFFLED_BLOCKS])
    return nn.Sequential(
        parts.normed(config.channels, _SHUFFLED_STEM, 1),
        *[_ShuffleNetUnit(*shape, config.groups) for shape in shapes],
        *parts.classifier(widths[-1], config),
    )


@architecture
def shufflenet_v2(config: NetworkConfig) -> nn.Module:
    """Build torchvision's ShuffleNetV2 with a stem of stride 1 and without pooling."""
    from torchvision.models.shufflenetv2 import ShuffleNetV2

    width = 244 if config.width == 224 else config.width
    last = 1024 if width <= 176 else 2048
    channels = [_SHUFFLED_STEM, config.width, 2 * width, 4 * width, last]
    model = ShuffleNetV2(list(_SHUFFLED_BLOCKS), channels, config.n_classes)
    model.conv1[0] = parts.convolution(config.channels, _SHUFFLED_STEM)
    model.maxpool = nn.Identity()
    return cast("nn.Module", model)


_REGNET_STEM = 64
# By depth: blocks, w_a, w_m and group width of the published 200MF and 400MF.
_PARAMETERS = {41: (13, 36.44, 2.49, 8), 68: (22, 24.48, 2.54, 16)}


@architecture
def regnet_x(config: NetworkConfig, excitation: float = 0.0) -> nn.Module:
    """Build timm's RegNetX-200MF or -400MF, whose stem and first two stages have stride 1."""
    from timm.models.regnet import RegNet, RegNetCfg

    blocks, slope, factor, group = _PARAMETERS[config.depth]
    parameters = RegNetCfg(
        depth=blocks, w0=24, wa=slope, wm=factor, group_size=group, stem_width=_REGNET_STEM,
        se_ratio=excitation,
    )  # fmt: skip
    model: Any = RegNet(parameters, config.channels, config.n_classes, zero_init_last=False)
    model.stem.conv = parts.convolution(config.channels, _REGNET_STEM)
    for first in (model.s1.b1, model.s2.b1):
        first.conv2.conv.stride = first.downsample.conv.stride = (1, 1)
    return cast("nn.Module", model)


@architecture
def regnet_y(config: NetworkConfig) -> nn.Module:
    """Build `regnet_x` with squeeze-and-excitation in each block."""
    return regnet_x(config, excitation=0.25)
