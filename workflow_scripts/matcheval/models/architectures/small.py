"""Small classifiers for images of any size, such as the 8 × 8 digits."""

from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures.parts import GlobalAverage, NetworkConfig


def linear(config: NetworkConfig) -> nn.Module:
    """Build a multinomial logistic regression."""
    return nn.Sequential(nn.Flatten(), nn.Linear(_n_values(config), config.n_classes))


def mlp(config: NetworkConfig) -> nn.Module:
    """Build a multilayer perceptron with ReLU."""
    layers: list[nn.Module] = [nn.Flatten()]
    inputs = _n_values(config)
    for _ in range(config.depth):
        layers += [nn.Linear(inputs, config.width), nn.ReLU()]
        inputs = config.width
    return nn.Sequential(*layers, nn.Linear(inputs, config.n_classes))


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


def resnet(config: NetworkConfig) -> nn.Module:
    """Build a residual network whose further blocks halve the map and double the channels."""
    width, depth = config.width, config.depth
    blocks = [_ResidualBlock(width << max(0, i - 1), width << i, 1 + (i > 0)) for i in range(depth)]
    return nn.Sequential(
        nn.Conv2d(config.channels, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        *blocks,
        GlobalAverage(),
        nn.Linear(width << (depth - 1), config.n_classes),
    )


class _ResidualBlock(nn.Module):
    """Block relu(f(x) + shortcut(x)), where f is two 3 × 3 convolutions with batch norm."""

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


def _n_values(config: NetworkConfig) -> int:
    height, breadth, channels = config.input_shape
    return height * breadth * channels
