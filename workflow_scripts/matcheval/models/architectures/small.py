"""Small classifiers for images of any size, such as the 8 × 8 digits."""

from math import prod

from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures import parts
from matcheval.models.architectures.parts import NetworkConfig, architecture


@architecture
def linear(config: NetworkConfig) -> nn.Module:
    """Build a multinomial logistic regression."""
    return nn.Sequential(nn.Flatten(), nn.Linear(prod(config.input_shape), config.n_classes))


@architecture
def mlp(config: NetworkConfig) -> nn.Module:
    """Build a multilayer perceptron with ReLU."""
    layers: list[nn.Module] = [nn.Flatten()]
    inputs = prod(config.input_shape)
    for _ in range(config.depth):
        layers += [nn.Linear(inputs, config.width), nn.ReLU()]
        inputs = config.width
    return nn.Sequential(*layers, nn.Linear(inputs, config.n_classes))


@architecture
def cnn(config: NetworkConfig) -> nn.Module:
    """Build convolutions with ReLU and max pooling, and a linear layer."""
    height, breadth, channels = config.input_shape
    layers: list[nn.Module] = []
    for _ in range(config.depth):
        layers += [nn.Conv2d(channels, config.width, 3, padding=1), nn.ReLU()]
        channels = config.width
        if min(height, breadth) >= 2:
            layers.append(nn.MaxPool2d(2))
            height, breadth = height // 2, breadth // 2
    features = height * breadth * channels
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(features, config.n_classes))


@architecture
def resnet(config: NetworkConfig) -> nn.Module:
    """Build a residual network whose further blocks halve the map and double the channels."""
    widths = config.widths(config.depth)
    blocks = [
        _ResidualBlock(*shape) for shape in parts.stage_shapes(widths[0], widths, [1] * len(widths))
    ]
    return nn.Sequential(
        parts.convolution(config.channels, config.width),
        nn.BatchNorm2d(config.width),
        nn.ReLU(),
        *blocks,
        *parts.classifier(widths[-1], config),
    )


class _ResidualBlock(nn.Module):
    """Block relu(f(x) + shortcut(x)), where f is two 3 × 3 convolutions with batch norm."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = parts.convolution(inputs, outputs, 3, stride)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = parts.convolution(outputs, outputs)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.shortcut = parts.shortcut(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu(self.first_norm(self.first(x)))
        residual: Tensor = self.second_norm(self.second(inner)) + self.shortcut(x)
        return functional.relu(residual)
