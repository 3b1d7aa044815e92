"""Small classifiers for images of any shape, such as the 8 × 8 digits."""

from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures.parts import Blueprint, GlobalAverage


def linear(plan: Blueprint) -> nn.Module:
    """Multinomial logistic regression."""
    return nn.Sequential(nn.Flatten(), nn.Linear(_product(plan), plan.n_classes))


def mlp(plan: Blueprint) -> nn.Module:
    """Fully connected layers with ReLU."""
    layers: list[nn.Module] = [nn.Flatten()]
    inputs = _product(plan)
    for _ in range(plan.depth):
        layers += [nn.Linear(inputs, plan.width), nn.ReLU()]
        inputs = plan.width
    return nn.Sequential(*layers, nn.Linear(inputs, plan.n_classes))


def cnn(plan: Blueprint) -> nn.Module:
    """Convolutions with ReLU and max pooling."""
    height, breadth, channels = plan.input_shape
    layers: list[nn.Module] = []
    for _ in range(plan.depth):
        layers += [nn.Conv2d(channels, plan.width, 3, padding=1), nn.ReLU()]
        channels = plan.width
        if min(height, breadth) >= 2:
            layers.append(nn.MaxPool2d(2))
            height, breadth = height // 2, breadth // 2
    features = height * breadth * channels
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(features, plan.n_classes))


def resnet(plan: Blueprint) -> nn.Module:
    """Residual blocks, each further one of half the map and twice the channels."""
    width, depth = plan.width, plan.depth
    blocks = [_ResidualBlock(width << max(0, i - 1), width << i, 1 + (i > 0)) for i in range(depth)]
    return nn.Sequential(
        nn.Conv2d(plan.channels, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        *blocks,
        GlobalAverage(),
        nn.Linear(width << (depth - 1), plan.n_classes),
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


def _product(plan: Blueprint) -> int:
    height, breadth, channels = plan.input_shape
    return height * breadth * channels
