"""Building blocks shared by the architectures, and the register of their functions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import torch
from torch import Generator, Tensor, nn

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class NetworkConfig:
    """Size of a network, shape of its images, and classes; `networks.build_model` checks them."""

    width: int
    depth: int
    groups: int
    input_shape: Shape
    n_classes: int

    @property
    def channels(self) -> int:
        """Number of channels of the images."""
        return self.input_shape[2]

    def widths(self, stages: int) -> list[int]:
        """Return the channels of stages: `width` in the first, twice as many in each next one."""
        return [self.width << stage for stage in range(stages)]


Builder = Callable[[NetworkConfig], nn.Module]
BUILDERS: dict[str, Builder] = {}
_Builder = TypeVar("_Builder", bound=Builder)


def architecture(builder: _Builder) -> _Builder:
    """Register a function that builds a network in `BUILDERS`, under the function's name."""
    BUILDERS[builder.__name__] = builder
    return builder


class GlobalAverage(nn.Module):
    """Mean over height and width; unlike adaptive pooling, deterministic on a GPU as well."""

    def forward(self, x: Tensor) -> Tensor:
        """Average a feature map."""
        return torch.mean(x, dim=(2, 3))


class Noisy(nn.Module):
    """Base class of modules that draw random numbers in training, by the generator `noise`."""

    def __init__(self) -> None:
        super().__init__()
        self.noise: Generator | None = None


class Dropout(Noisy):
    """Dropout of single values, or of the whole feature map of an image (stochastic depth)."""

    def __init__(self, rate: float, *, per_image: bool = False) -> None:
        super().__init__()
        self.rate, self.per_image = rate, per_image

    def forward(self, x: Tensor) -> Tensor:
        """Drop values of a tensor in training."""
        if not self.training or self.rate == 0:
            return x
        shape = (len(x), *[1] * (x.ndim - 1)) if self.per_image else x.shape
        left = torch.rand(shape, generator=self.noise) >= self.rate
        return x * left.to(x.device, x.dtype) / (1 - self.rate)


def scale_dropout(model: nn.Module, factor: float) -> None:
    """Multiply a model's rates of dropout of single values, not those of stochastic depth."""
    for module in model.modules():
        if isinstance(module, Dropout) and not module.per_image:
            module.rate *= factor


def convolution(
    inputs: int, outputs: int, size: int = 3, stride: int = 1, groups: int = 1
) -> nn.Conv2d:
    """Build a convolution without bias, padded so that only the stride changes height and width."""
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, groups=groups, bias=False)


def normed(
    inputs: int, outputs: int, size: int = 3, stride: int = 1, groups: int = 1, *,
    active: bool = True,
) -> nn.Sequential:  # fmt: skip
    """Build a padded convolution without bias, with batch norm and, if `active`, ReLU."""
    layers = [convolution(inputs, outputs, size, stride, groups), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([nn.ReLU(inplace=True)] if active else []))


def bottleneck(inputs: int, inner: int, outputs: int, stride: int, groups: int) -> nn.Sequential:
    """Build normed convolutions: 1 × 1, grouped 3 × 3, and 1 × 1, the last without ReLU."""
    return nn.Sequential(
        normed(inputs, inner, 1),
        normed(inner, inner, 3, stride, groups),
        normed(inner, outputs, 1, active=False),
    )


def shortcut(inputs: int, outputs: int, stride: int) -> nn.Module:
    """Build a residual shortcut: identity or, if the shape changes, a normed 1 × 1 convolution."""
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    return normed(inputs, outputs, 1, stride, active=False)


def classifier(inputs: int, config: NetworkConfig) -> tuple[nn.Module, nn.Module]:
    """Build the last layers of most networks: global average pooling and a linear layer."""
    return GlobalAverage(), nn.Linear(inputs, config.n_classes)


def stage_shapes(
    first: int, outputs: Sequence[int], blocks: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """Yield each block's input and output channels and stride; later stages halve the map."""
    inputs = first
    for stage, channels in enumerate(outputs):
        for block in range(blocks[stage]):
            yield inputs, channels, 2 if stage > 0 and block == 0 else 1
            inputs = channels


def he_normal_(model: nn.Module, mode: Literal["fan_in", "fan_out"]) -> None:
    """Draw the convolutions' weights in place from N(0, 2 / fan), in the order of the modules."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode=mode, nonlinearity="relu")
