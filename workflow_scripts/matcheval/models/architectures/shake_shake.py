"""Shake-Shake networks: residual blocks of two branches that are mixed at random.

References
----------
Gastaldi (2017), Shake-Shake regularization, arXiv 1705.07485 (Shake-Shake-Image).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures.parts import (
    GlobalAverage,
    NetworkConfig,
    Noisy,
    convolution,
    he_normal_,
    stage_shapes,
)

_STEM = 16


class ShakeBlock(Noisy):
    """Residual block shortcut(x) + a f(x) + (1 - a) g(x)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = _branch(inputs, outputs, stride)
        self.second = _branch(inputs, outputs, stride)
        self.shortcut = nn.Identity() if inputs == outputs else _Halving(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the block."""
        first, second = self.first(x), self.second(x)
        if not self.training:
            mixed: Tensor = (first + second) / 2
        else:
            draws = torch.rand(2, len(x), 1, 1, 1, generator=self.noise)
            forward, backward = draws.to(x.device, x.dtype)
            difference = first - second
            # The detached term gives the sum the value for `forward`; its gradient is that for
            # `backward`.
            mixed = second + backward * difference
            mixed = mixed + ((forward - backward) * difference).detach()
        result: Tensor = self.shortcut(x) + mixed
        return result


class _Halving(nn.Module):
    """Shortcut between stages: two subsampled maps, one pixel apart, with a convolution each."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.here = convolution(inputs, outputs // 2, 1)
        self.there = convolution(inputs, outputs - outputs // 2, 1)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(x)
        shifted = functional.pad(x[:, :, 1:, 1:], (0, 1, 0, 1))
        step = self.stride
        both = self.here(x[:, :, ::step, ::step]), self.there(shifted[:, :, ::step, ::step])
        normed: Tensor = self.norm(torch.cat(both, dim=1))
        return normed


def _branch(inputs: int, outputs: int, stride: int) -> nn.Module:
    return nn.Sequential(
        nn.ReLU(),
        convolution(inputs, outputs, 3, stride),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
        convolution(outputs, outputs),
        nn.BatchNorm2d(outputs),
    )


def shake_shake(config: NetworkConfig) -> nn.Module:
    """Build a Shake-Shake network of three stages."""
    widths = [config.width, 2 * config.width, 4 * config.width]
    shapes = stage_shapes(_STEM, widths, [(config.depth - 2) // 6] * 3)
    model = nn.Sequential(
        convolution(config.channels, _STEM),
        nn.BatchNorm2d(_STEM),
        *[ShakeBlock(*shape) for shape in shapes],
        nn.ReLU(inplace=True),
        GlobalAverage(),
        nn.Linear(widths[-1], config.n_classes),
    )
    he_normal_(model, "fan_out")
    return model
