"""MobileNet, MobileNetV2 and EfficientNet for 32 × 32 images: separable convolutions.

References
----------
Howard et al. (2017), MobileNets. Sandler et al. (2018), MobileNetV2, table 2.
Tan & Le (2019), EfficientNet, table 1 (B0).
github kuangliu/pytorch-cifar, models/mobilenet.py, mobilenetv2.py and efficientnet.py: strides of
the first layers, and shortcuts of MobileNetV2.
"""

from typing import Any

from torch import Tensor, nn

from matcheval.models.architectures.parts import (
    Dropout,
    GlobalAverage,
    NetworkConfig,
    convolution,
    normed,
)

# Expansion, output channels for a stem of 32, blocks and stride of each stage of MobileNetV2.
_STAGES_V2 = (
    (1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
    (6, 320, 1, 1),
)  # fmt: skip
_LAST_V2 = 1280


class _InvertedResidual(nn.Module):
    """Expansion, depthwise convolution and projection; a shortcut wherever the stride is 1."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = expansion * inputs
        self.layers = nn.Sequential(
            normed(inputs, inner, 1),
            normed(inner, inner, 3, stride, groups=inner),
            normed(inner, outputs, 1, active=False),
        )
        self.shortcut: nn.Module | None = None
        if stride == 1:
            same = inputs == outputs
            self.shortcut = nn.Identity() if same else normed(inputs, outputs, 1, active=False)

    def forward(self, x: Tensor) -> Tensor:
        inner: Tensor = self.layers(x)
        return inner if self.shortcut is None else inner + self.shortcut(x)


def mobilenet(config: NetworkConfig) -> nn.Module:
    """Build timm's MobileNet with a stem of stride 1 and ReLU."""
    import timm

    model: Any = timm.create_model(
        "mobilenetv1_100",
        num_classes=config.n_classes,
        in_chans=config.channels,
        act_layer=nn.ReLU,
    )
    model.conv_stem = convolution(config.channels, config.width)
    whole: nn.Module = model
    return whole


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
    last = _LAST_V2 * config.width // 32
    return nn.Sequential(
        normed(config.channels, config.width),
        *blocks,
        normed(inputs, last, 1),
        GlobalAverage(),
        nn.Linear(last, config.n_classes),
    )


def efficientnet(config: NetworkConfig) -> nn.Module:
    """Build timm's EfficientNet-B0 with a stem of stride 1 and without the last convolution."""
    import timm

    model: Any = timm.create_model(
        "efficientnet_b0", num_classes=config.n_classes, in_chans=config.channels
    )
    model.conv_stem = convolution(config.channels, config.width)
    blocks = [block for stage in model.blocks for block in stage]
    for i, block in enumerate(blocks):
        block.drop_path = Dropout(0.2 * i / len(blocks), per_image=True)
    model.conv_head, model.bn2 = nn.Identity(), nn.Identity()
    model.global_pool = nn.Sequential(model.global_pool, Dropout(0.2))
    model.classifier = nn.Linear(blocks[-1].bn3.num_features, config.n_classes)
    whole: nn.Module = model
    return whole
