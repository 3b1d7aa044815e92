"""Building blocks shared by the architectures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator, Tensor, nn

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


class Noisy(nn.Module):
    """A module that draws random numbers in training.

    It draws them from the generator `noise` on the CPU, or from torch's global generator if that is
    None. Training sets it, so that a training that is resumed draws the same numbers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.noise: Generator | None = None


class Dropout(Noisy):
    """Dropout of single values, or of the whole feature map of an image (stochastic depth).

    What is left is divided by the probability of being left. In evaluation, nothing is dropped.

    Parameters
    ----------
    rate : float
        Probability of being dropped, in [0, 1).
    per_image : bool
        Whether all values of an image are dropped together.

    References
    ----------
    Srivastava et al. (2014), Dropout. Huang et al. (2016), Deep Networks with Stochastic Depth.
    """

    def __init__(self, rate: float, *, per_image: bool = False) -> None:
        super().__init__()
        self.rate, self.per_image = rate, per_image

    def forward(self, x: Tensor) -> Tensor:
        """Drop values of a tensor in training.

        Parameters
        ----------
        x : float tensor, shape (n, ...)

        Returns
        -------
        float tensor of the same shape
        """
        if not self.training or self.rate == 0:
            return x
        shape = (len(x), *[1] * (x.ndim - 1)) if self.per_image else x.shape
        left = torch.rand(shape, generator=self.noise) >= self.rate
        return x * left.to(x.device, x.dtype) / (1 - self.rate)


def scale_dropout(model: nn.Module, factor: float) -> None:
    """Multiply the rates of dropout of single values; stochastic depth stays as it is.

    Parameters
    ----------
    model : torch.nn.Module
        Modified in place.
    factor : float
        All rates stay below 1.
    """
    for module in model.modules():
        if isinstance(module, Dropout) and not module.per_image:
            module.rate *= factor


def convolution(
    inputs: int, outputs: int, size: int = 3, stride: int = 1, groups: int = 1
) -> nn.Conv2d:
    """Build a convolution without bias, padded so that only the stride changes height and width.

    Parameters
    ----------
    inputs, outputs : int
        Numbers of channels.
    size : int
        Side of the kernel, an odd number.
    stride : int
        Stride in both directions.
    groups : int
        Number of groups.

    Returns
    -------
    torch.nn.Conv2d
    """
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, groups=groups, bias=False)


def normed(
    inputs: int,
    outputs: int,
    size: int = 3,
    stride: int = 1,
    groups: int = 1,
    *,
    active: bool = True,
) -> nn.Sequential:
    """Build a convolution as `convolution` does, with batch norm and ReLU.

    Parameters
    ----------
    inputs, outputs, size, stride, groups : int
        As for `convolution`.
    active : bool
        Whether there is a ReLU.

    Returns
    -------
    torch.nn.Sequential
    """
    layers = [convolution(inputs, outputs, size, stride, groups), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([nn.ReLU(inplace=True)] if active else []))


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
