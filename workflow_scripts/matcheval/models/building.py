"""The architectures: modules that take images as float32 NCHW in [0, 1] and return logits.

To add one, write a function like those below, add a line to `_BUILDERS`, and its name to
`ARCHITECTURES`.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from matcheval.errors import InputError
from matcheval.models import ARCHITECTURES

Shape = tuple[int, int, int]


def build_model(
    architecture: str, *, width: int, depth: int, input_shape: Shape, n_classes: int
) -> nn.Module:
    """Make a classifier with fresh weights, drawn from torch's global generator.

    Parameters
    ----------
    architecture : str
        `linear`: multinomial logistic regression; has neither width nor depth.
        `mlp`: `depth` hidden layers of `width` units.
        `cnn`: `depth` 3 × 3 convolutions of `width` channels, the map halved after each.
        `resnet`: `depth` residual blocks with batch norm, the first of `width` channels, each
        further one halving the map and doubling the channels (He et al. 2016).
    width, depth : int
        At least 1; 0 for `linear`.
    input_shape : (int, int, int)
        Height, width and channels of the images.
    n_classes : int
        At least 2.

    Returns
    -------
    torch.nn.Module
        Maps float32 (n, channels, height, width) to float32 logits (n, n_classes).

    Raises
    ------
    InputError
        If the architecture is unknown, or a number is not as said above.
    """
    check_architecture(architecture, width, depth)
    if n_classes < 2 or min(input_shape) < 1:
        raise InputError(f"cannot tell {n_classes} classes by images of {input_shape}")
    return _BUILDERS[architecture](width, depth, input_shape, n_classes)


def check_architecture(architecture: str, width: int, depth: int) -> None:
    """Refuse an unknown architecture, or a size it cannot have (see `build_model`)."""
    if architecture not in ARCHITECTURES:
        raise InputError(
            f"unknown architecture '{architecture}'", remedy=f"Known: {', '.join(ARCHITECTURES)}"
        )
    if architecture == "linear" and (width, depth) != (0, 0):
        raise InputError(f"linear has no width {width} and depth {depth}", remedy="Give 0 and 0")
    if architecture != "linear" and min(width, depth) < 1:
        raise InputError(
            f"{architecture} of width {width} and depth {depth}", remedy="Give at least 1"
        )


def _linear(width: int, depth: int, input_shape: Shape, n_classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(_product(input_shape), n_classes))


def _mlp(width: int, depth: int, input_shape: Shape, n_classes: int) -> nn.Module:
    layers: list[nn.Module] = [nn.Flatten()]
    inputs = _product(input_shape)
    for _ in range(depth):
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, n_classes))


def _cnn(width: int, depth: int, input_shape: Shape, n_classes: int) -> nn.Module:
    height, breadth, channels = input_shape
    layers: list[nn.Module] = []
    for _ in range(depth):
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
        channels = width
        if min(height, breadth) >= 2:
            layers.append(nn.MaxPool2d(2))
            height, breadth = height // 2, breadth // 2
    features = height * breadth * channels
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(features, n_classes))


def _resnet(width: int, depth: int, input_shape: Shape, n_classes: int) -> nn.Module:
    blocks = [_ResidualBlock(width << max(0, i - 1), width << i, 1 + (i > 0)) for i in range(depth)]
    return nn.Sequential(
        nn.Conv2d(input_shape[2], width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        *blocks,
        _GlobalAverage(),
        nn.Linear(width << (depth - 1), n_classes),
    )


class _ResidualBlock(nn.Module):
    """relu(f(x) + shortcut(x)), f of two 3 × 3 convolutions with batch norm."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu(self.first_norm(self.first(x)))
        residual: Tensor = self.second_norm(self.second(inner)) + self.shortcut(x)
        return functional.relu(residual)


class _GlobalAverage(nn.Module):
    """Mean over height and width; unlike adaptive pooling, deterministic on a GPU as well."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.mean(x, dim=(2, 3))


_BUILDERS: dict[str, Callable[[int, int, Shape, int], nn.Module]] = {
    "linear": _linear,
    "mlp": _mlp,
    "cnn": _cnn,
    "resnet": _resnet,
}


def _product(shape: Shape) -> int:
    return shape[0] * shape[1] * shape[2]
