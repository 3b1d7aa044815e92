"""Shake-Shake networks: two residual branches, mixed at random.

References
----------
Gastaldi (2017), Shake-Shake regularization, arXiv 1705.07485 (Shake-Shake-Image).
"""

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from matcheval.models.architectures.parts import (
    Blueprint,
    GlobalAverage,
    convolution,
    he_normal_,
    stage_shapes,
)

_STEM = 16


class ShakeBlock(nn.Module):
    """shortcut(x) + a f(x) + (1 - a) g(x).

    In training, each image's `a` is uniform on [0, 1], and another one in the backward pass; in
    evaluation it is 1 / 2 ("even"). They are drawn, both in the forward pass, from `noise` on
    the CPU, or from torch's global generator where that is None.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = _branch(inputs, outputs, stride)
        self.second = _branch(inputs, outputs, stride)
        self.shortcut = nn.Identity() if inputs == outputs else _Halving(inputs, outputs, stride)
        self.noise: Generator | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Map (n, inputs, height, width) to (n, outputs, height / stride, width / stride)."""
        first, second = self.first(x), self.second(x)
        if not self.training:
            mixed: Tensor = (first + second) / 2
        else:
            draws = torch.rand(2, len(x), 1, 1, 1, generator=self.noise)
            forward, backward = draws.to(x.device, x.dtype)
            difference = first - second
            # The detached term makes the value that of `forward`, the gradient `backward`'s.
            mixed = second + backward * difference
            mixed = mixed + ((forward - backward) * difference).detach()
        result: Tensor = self.shortcut(x) + mixed
        return result


class _Halving(nn.Module):
    """Shortcut between stages: two subsamplings a pixel apart, each through a convolution."""

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


def shake_shake(plan: Blueprint) -> nn.Module:
    """Shake-Shake 26 2×32d (depth 26, width 32) and its like."""
    widths = [plan.width, 2 * plan.width, 4 * plan.width]
    shapes = stage_shapes(_STEM, widths, [(plan.depth - 2) // 6] * 3)
    model = nn.Sequential(
        convolution(plan.channels, _STEM),
        nn.BatchNorm2d(_STEM),
        *[ShakeBlock(*shape) for shape in shapes],
        nn.ReLU(inplace=True),
        GlobalAverage(),
        nn.Linear(widths[-1], plan.n_classes),
    )
    he_normal_(model, "fan_out")
    return model
