"""Building blocks shared by the architectures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class NetworkConfig:
    """Size, input and output of a network; `building.build_model` checks the values.

    Attributes
    ----------
    width, depth, groups : int
        As for `building.build_model`.
    input_shape : (int, int, int)
        Height, width and channels of the images.
    n_classes : int
        Number of classes.
    """

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
        """Average a feature map.

        Parameters
        ----------
        x : float tensor, shape (n, channels, height, width)

        Returns
        -------
        float tensor, shape (n, channels)
        """
        return torch.mean(x, dim=(2, 3))


def convolution(inputs: int, outputs: int, size: int = 3, stride: int = 1) -> nn.Conv2d:
    """Build a convolution without bias, padded so that only the stride changes height and width.

    Parameters
    ----------
    inputs, outputs : int
        Numbers of channels.
    size : int
        Side of the kernel, an odd number.
    stride : int
        Stride in both directions.

    Returns
    -------
    torch.nn.Conv2d
    """
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


def stage_shapes(
    first: int, outputs: Sequence[int], blocks: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """Yield the shape of each block, where every stage but the first halves the feature map.

    Parameters
    ----------
    first : int
        Input channels of the first stage.
    outputs : sequence of int
        Output channels of each stage.
    blocks : sequence of int
        Number of blocks of each stage.

    Yields
    ------
    inputs, outputs, stride : int
        Input channels, output channels and stride of a block.
    """
    inputs = first
    for stage, channels in enumerate(outputs):
        for block in range(blocks[stage]):
            yield inputs, channels, 2 if stage > 0 and block == 0 else 1
            inputs = channels


def he_normal_(model: nn.Module, mode: Literal["fan_in", "fan_out"]) -> None:
    """Draw the convolutions' weights in place from N(0, 2 / fan), in the order of the modules.

    Parameters
    ----------
    model : torch.nn.Module
        The model, whose convolutions are initialised.
    mode : str
        Whether the fan counts a convolution's inputs or outputs.

    References
    ----------
    He et al. (2015), Delving Deep into Rectifiers.
    """
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode=mode, nonlinearity="relu")
