"""ShuffleNet and ShuffleNetV2 for 32 × 32 images: the first convolution has stride 1, no max-pool.

References
----------
Zhang et al. (2018), ShuffleNet, table 1. Ma et al. (2018), ShuffleNet V2, table 5.
github kuangliu/pytorch-cifar, models/shufflenet.py and shufflenetv2.py: the stems.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures.parts import (
    GlobalAverage,
    NetworkConfig,
    convolution,
    normed,
    stage_shapes,
)

_STEM = 24
_BLOCKS = (4, 8, 4)


class _Unit(nn.Module):
    """ShuffleNet unit of grouped 1 × 1 convolutions, whose channels are shuffled in between."""

    def __init__(self, inputs: int, outputs: int, stride: int, groups: int) -> None:
        super().__init__()
        own = outputs - inputs if stride == 2 else outputs
        inner = own // 4
        self.groups = 1 if inputs == _STEM else groups
        self.first = normed(inputs, inner, 1, groups=self.groups)
        self.depthwise = normed(inner, inner, 3, stride, groups=inner)
        self.last = normed(inner, own, 1, groups=groups, active=False)
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.channel_shuffle(self.first(x), self.groups)
        inner = self.last(self.depthwise(inner))
        if self.stride == 1:
            return functional.relu(inner + x)
        shortcut = functional.avg_pool2d(x, 3, stride=2, padding=1)
        return functional.relu(torch.cat([inner, shortcut], dim=1))


def shufflenet(config: NetworkConfig) -> nn.Module:
    """Build a ShuffleNet with a 1 × 1 stem; all three stages halve the feature map."""
    widths = [config.width, 2 * config.width, 4 * config.width]
    # As all stages halve the map, a first stage without blocks precedes them.
    shapes = stage_shapes(_STEM, [_STEM, *widths], [0, *_BLOCKS])
    return nn.Sequential(
        normed(config.channels, _STEM, 1),
        *[_Unit(*shape, config.groups) for shape in shapes],
        GlobalAverage(),
        nn.Linear(widths[-1], config.n_classes),
    )


def shufflenet_v2(config: NetworkConfig) -> nn.Module:
    """Build torchvision's ShuffleNetV2 with a stem of stride 1 and without pooling."""
    from torchvision.models.shufflenetv2 import ShuffleNetV2

    width = 244 if config.width == 224 else config.width
    last = 1024 if width <= 176 else 2048
    channels = [_STEM, config.width, 2 * width, 4 * width, last]
    model: Any = ShuffleNetV2(list(_BLOCKS), channels, config.n_classes)
    model.conv1[0] = convolution(config.channels, _STEM)
    model.maxpool = nn.Identity()
    whole: nn.Module = model
    return whole
