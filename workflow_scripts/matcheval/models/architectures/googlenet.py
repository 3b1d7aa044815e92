"""GoogLeNet with batch norm for 32 × 32 images.

References
----------
Szegedy et al. (2015), Going Deeper with Convolutions, table 1. Ioffe & Szegedy (2015), Batch
Normalization, section 4.2: two 3 × 3 convolutions in place of one of 5 × 5.
github kuangliu/pytorch-cifar, models/googlenet.py: the stem, and convolutions with biases.
"""

import torch
from torch import Tensor, nn

from matcheval.models.architectures.parts import GlobalAverage, NetworkConfig

_STEM = 192
# Channels of the four branches of each module: 1 × 1; 1 × 1 and 3 × 3; 1 × 1 and two of 3 × 3;
# pooling and 1 × 1. None stands for a halving of the feature map.
_MODULES = (
    (64, (96, 128), (16, 32), 32), (128, (128, 192), (32, 96), 64), None,
    (192, (96, 208), (16, 48), 64), (160, (112, 224), (24, 64), 64),
    (128, (128, 256), (24, 64), 64), (112, (144, 288), (32, 64), 64),
    (256, (160, 320), (32, 128), 128), None,
    (256, (160, 320), (32, 128), 128), (384, (192, 384), (48, 128), 128),
)  # fmt: skip


class _Inception(nn.Module):
    """Four branches, whose outputs are joined."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], dim=1)


def _layer(inputs: int, outputs: int, size: int) -> nn.Module:
    layer = nn.Conv2d(inputs, outputs, size, padding=size // 2)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


def googlenet(config: NetworkConfig) -> nn.Module:
    """Build a GoogLeNet without auxiliary classifiers, whose stem is one 3 × 3 convolution."""

    def scaled(channels: int) -> int:
        return channels * config.width // _STEM

    inputs = config.width
    layers = [_layer(config.channels, inputs, 3)]
    for module in _MODULES:
        if module is None:
            layers.append(nn.MaxPool2d(3, stride=2, padding=1))
            continue
        one, pooled = scaled(module[0]), scaled(module[3])
        (three_in, three), (five_in, five) = (map(scaled, pair) for pair in module[1:3])
        layers.append(
            _Inception(
                _layer(inputs, one, 1),
                nn.Sequential(_layer(inputs, three_in, 1), _layer(three_in, three, 3)),
                nn.Sequential(
                    _layer(inputs, five_in, 1), _layer(five_in, five, 3), _layer(five, five, 3)
                ),
                nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), _layer(inputs, pooled, 1)),
            )
        )
        inputs = one + three + five + pooled
    return nn.Sequential(*layers, GlobalAverage(), nn.Linear(inputs, config.n_classes))
