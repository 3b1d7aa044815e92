"""Two small networks in the manner of PNASNet, for 32 × 32 images.

References
----------
Liu et al. (2018), Progressive Neural Architecture Search.
github kuangliu/pytorch-cifar, models/pnasnet.py: the cells, which are simpler than the paper's.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures.parts import (
    GlobalAverage,
    NetworkConfig,
    normed,
    stage_shapes,
)


def _pooled(inputs: int, outputs: int, stride: int) -> nn.Module:
    """Max pooling, with a 1 × 1 convolution where the shape changes."""
    pool = nn.MaxPool2d(3, stride, padding=1)
    return pool if stride == 1 else nn.Sequential(pool, normed(inputs, outputs, 1, active=False))


def _separate(inputs: int, outputs: int, size: int, stride: int) -> nn.Module:
    """Convolution of each channel by itself."""
    return normed(inputs, outputs, size, stride, groups=inputs, active=False)


class _CellA(nn.Module):
    """Sum of a 7 × 7 convolution of each channel and of max pooling."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.seven = _separate(inputs, outputs, 7, stride)
        self.pooled = _pooled(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.seven(x) + self.pooled(x))


class _CellB(nn.Module):
    """Two sums, of 7 × 7 and 3 × 3 and of 5 × 5 and max pooling, joined and reduced."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.seven, self.five, self.three = (
            _separate(inputs, outputs, size, stride) for size in (7, 5, 3)
        )
        self.pooled = _pooled(inputs, outputs, stride)
        self.reduce = normed(2 * outputs, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        sums = [self.seven(x) + self.three(x), self.pooled(x) + self.five(x)]
        reduced: Tensor = self.reduce(functional.relu(torch.cat(sums, dim=1)))
        return reduced


def pnasnet_a(config: NetworkConfig) -> nn.Module:
    """Build a network of cells of one convolution."""
    return _network(config, _CellA)


def pnasnet_b(config: NetworkConfig) -> nn.Module:
    """Build a network of cells of three convolutions and a reduction."""
    return _network(config, _CellB)


def _network(config: NetworkConfig, cell: Callable[[int, int, int], nn.Module]) -> nn.Module:
    widths = [config.width, 2 * config.width, 4 * config.width]
    return nn.Sequential(
        normed(config.channels, config.width),
        *[cell(*shape) for shape in stage_shapes(config.width, widths, (6, 7, 7))],
        GlobalAverage(),
        nn.Linear(widths[-1], config.n_classes),
    )
