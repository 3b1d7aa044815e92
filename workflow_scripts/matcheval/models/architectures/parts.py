"""What the architectures share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Blueprint:
    """What a model is built by; see `building.build_model`, which checks it."""

    width: int
    depth: int
    groups: int
    input_shape: Shape
    n_classes: int

    @property
    def channels(self) -> int:
        """Channels of the images."""
        return self.input_shape[2]


class GlobalAverage(nn.Module):
    """Mean over height and width; unlike adaptive pooling, deterministic on a GPU as well."""

    def forward(self, x: Tensor) -> Tensor:
        """Average (n, channels, height, width) to (n, channels)."""
        return torch.mean(x, dim=(2, 3))


def convolution(inputs: int, outputs: int, size: int = 3, stride: int = 1) -> nn.Conv2d:
    """Convolution without bias that keeps height and width, up to its stride."""
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


def stage_shapes(
    first: int, outputs: Sequence[int], blocks: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """Inputs, outputs and stride of each block of stages that halve the map from the second on.

    Parameters
    ----------
    first : int
        Channels that enter the first stage.
    outputs, blocks : sequence of int
        Channels that leave each stage, and its blocks.
    """
    inputs = first
    for stage, channels in enumerate(outputs):
        for block in range(blocks[stage]):
            yield inputs, channels, 2 if stage > 0 and block == 0 else 1
            inputs = channels


def he_normal_(model: nn.Module, mode: Literal["fan_in", "fan_out"]) -> None:
    """Draw the convolutions' weights from N(0, 2 / fan), in the order of the modules.

    References
    ----------
    He et al. (2015), Delving Deep into Rectifiers.
    """
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode=mode, nonlinearity="relu")
