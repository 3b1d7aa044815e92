"""VGG, GoogLeNet, DenseNet and PNASNet for 32 × 32 images, and stacks for images of any size.

References
----------
VGG: Simonyan & Zisserman (2015), Very Deep Convolutional Networks, table 1 (A, B, D, E), with batch
norm (Ioffe & Szegedy 2015). github chenyaofo/pytorch-cifar-models, vgg.py: three linear layers.
GoogLeNet: Szegedy et al. (2015), Going Deeper with Convolutions, table 1. Ioffe & Szegedy (2015),
section 4.2: two 3 × 3 convolutions in place of one of 5 × 5. github kuangliu/pytorch-cifar,
googlenet.py: the stem, and convolutions with biases.
DenseNet: Huang et al. (2017), Densely Connected Convolutional Networks, section 3, tables 1 and 2.
PNASNet: Liu et al. (2018), Progressive Neural Architecture Search. github kuangliu/pytorch-cifar,
pnasnet.py: the cells, which are simpler than the paper's.
"""

from collections import OrderedDict
from collections.abc import Callable
from math import prod
from typing import Any, cast

import torch
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
    """Build `depth` convolutions with ReLU and max pooling, and a linear layer."""
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
def vgg(config: NetworkConfig) -> nn.Module:
    """Build a VGG from torchvision's convolutions, with one linear layer."""
    # Five halvings leave one position for 32 × 32 pixels, and several for larger images.
    return nn.Sequential(_vgg_features(config), *parts.classifier(8 * config.width, config))


@architecture
def vgg_three_linear(config: NetworkConfig) -> nn.Module:
    """Build a VGG from torchvision's convolutions, with three linear layers and dropout."""
    width = 8 * config.width
    hidden = [
        layer
        for _ in range(2)
        for layer in (nn.Linear(width, width), nn.ReLU(inplace=True), parts.Dropout(0.5))
    ]
    linear = nn.Sequential(*hidden, nn.Linear(width, config.n_classes))
    return nn.Sequential(
        OrderedDict(features=_vgg_features(config), pool=parts.GlobalAverage(), classifier=linear)
    )


def _vgg_features(config: NetworkConfig) -> nn.Module:
    from torchvision.models.vgg import cfgs, make_layers

    # torchvision's configurations are those of width 64.
    layers = [
        entry if isinstance(entry, str) else entry * config.width // 64
        for entry in cfgs[{11: "A", 13: "B", 16: "D", 19: "E"}[config.depth]]
    ]
    features: Any = make_layers(layers, batch_norm=True)
    if config.channels != 3:
        features[0] = nn.Conv2d(config.channels, features[0].out_channels, 3, padding=1)
    parts.he_normal_(features, "fan_out")
    for module in features.modules():
        if isinstance(module, nn.Conv2d) and module.bias is not None:
            nn.init.zeros_(module.bias)
    return cast("nn.Module", features)


_GOOGLENET_STEM = 192
# Channels of the four branches of each module: 1 × 1; 1 × 1 and 3 × 3; 1 × 1 and two of 3 × 3;
# pooling and 1 × 1. None stands for a halving of the feature map.
_GOOGLENET_MODULES = (
    (64, (96, 128), (16, 32), 32), (128, (128, 192), (32, 96), 64), None,
    (192, (96, 208), (16, 48), 64), (160, (112, 224), (24, 64), 64),
    (128, (128, 256), (24, 64), 64), (112, (144, 288), (32, 64), 64),
    (256, (160, 320), (32, 128), 128), None,
    (256, (160, 320), (32, 128), 128), (384, (192, 384), (48, 128), 128),
)  # fmt: skip


class _Inception(nn.Module):
    """Inception module: parallel branches, whose outputs are concatenated."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], dim=1)


def _layer(inputs: int, outputs: int, size: int) -> nn.Module:
    """Build a convolution with bias, batch norm and ReLU."""
    layer = nn.Conv2d(inputs, outputs, size, padding=size // 2)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


@architecture
def googlenet(config: NetworkConfig) -> nn.Module:
    """Build a GoogLeNet without auxiliary classifiers, whose stem is one 3 × 3 convolution."""

    def scaled(channels: int) -> int:
        return channels * config.width // _GOOGLENET_STEM

    inputs = config.width
    layers = [_layer(config.channels, inputs, 3)]
    for module in _GOOGLENET_MODULES:
        if module is None:
            layers.append(nn.MaxPool2d(3, stride=2, padding=1))
            continue
        one, pooled = scaled(module[0]), scaled(module[3])
        (three_in, three), (five_in, five) = (map(scaled, pair) for pair in module[1:3])
        layers.append(
            _Inception(
                _layer(inputs, one, 1),
                nn.Sequential(_layer(inputs, three_in, 1), _layer(three_in, three, 3)),
                nn.Sequential(
                    _layer(inputs, five_in, 1), _layer(five_in, five, 3), _layer(five, five, 3)
                ),
                nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), _layer(inputs, pooled, 1)),
            )
        )
        inputs = one + three + five + pooled
    return nn.Sequential(*layers, *parts.classifier(inputs, config))


@architecture
def densenet(config: NetworkConfig) -> nn.Module:
    """Build a DenseNet-BC of three blocks from torchvision's blocks."""
    layers = (config.depth - 4) // 6
    model = _densenet(config, (layers,) * 3)
    parts.he_normal_(model, "fan_in")
    return model


@architecture
def densenet_imagenet(config: NetworkConfig) -> nn.Module:
    """Build a DenseNet-BC of four blocks with a 3 × 3 stem of stride 1 and without pooling."""
    blocks = {121: (6, 12, 24, 16), 169: (6, 12, 32, 32)}
    return _densenet(config, blocks[config.depth])


def _densenet(config: NetworkConfig, blocks: tuple[int, ...]) -> nn.Module:
    from torchvision.models.densenet import DenseNet

    whole = DenseNet(
        growth_rate=config.width,
        block_config=blocks,
        num_init_features=2 * config.width,
        num_classes=config.n_classes,
    )
    # Leave out the stem for ImageNet, which reduces height and width to a quarter.
    kept = [(name, part) for name, part in whole.features.named_children() if name[-1] != "0"]
    layers = [
        ("stem", parts.convolution(config.channels, 2 * config.width)),
        *kept,
        ("relu", nn.ReLU(inplace=True)),
        ("pool", parts.GlobalAverage()),
        ("linear", whole.classifier),
    ]
    return nn.Sequential(OrderedDict(layers))


def _max_pooling(inputs: int, outputs: int, stride: int) -> nn.Module:
    """Build 3 × 3 max pooling, followed by a 1 × 1 convolution if the stride is not 1."""
    pool = nn.MaxPool2d(3, stride, padding=1)
    if stride == 1:
        return pool
    return nn.Sequential(pool, parts.normed(inputs, outputs, 1, active=False))


def _depthwise(inputs: int, outputs: int, size: int, stride: int) -> nn.Module:
    """Build a depthwise convolution with batch norm: of each channel by itself."""
    return parts.normed(inputs, outputs, size, stride, groups=inputs, active=False)


class _CellA(nn.Module):
    """PNASNet cell: ReLU of the sum of a 7 × 7 depthwise convolution and max pooling."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.seven = _depthwise(inputs, outputs, 7, stride)
        self.pooled = _max_pooling(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.seven(x) + self.pooled(x))


class _CellB(nn.Module):
    """PNASNet cell: sums of 7 × 7 and 3 × 3, and of 5 × 5 and pooling, joined and reduced."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.seven, self.five, self.three = (
            _depthwise(inputs, outputs, size, stride) for size in (7, 5, 3)
        )
        self.pooled = _max_pooling(inputs, outputs, stride)
        self.reduce = parts.normed(2 * outputs, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        sums = [self.seven(x) + self.three(x), self.pooled(x) + self.five(x)]
        return self.reduce(functional.relu(torch.cat(sums, dim=1)))


@architecture
def pnasnet_a(
    config: NetworkConfig, cell: Callable[[int, int, int], nn.Module] = _CellA
) -> nn.Module:
    """Build pytorch-cifar's PNASNet, whose cells have a single convolution."""
    shapes = parts.stage_shapes(config.width, config.widths(3), (6, 7, 7))
    return nn.Sequential(
        parts.normed(config.channels, config.width),
        *[cell(*shape) for shape in shapes],
        *parts.classifier(4 * config.width, config),
    )


@architecture
def pnasnet_b(config: NetworkConfig) -> nn.Module:
    """Build pytorch-cifar's PNASNet, whose cells have three convolutions and a reduction."""
    return pnasnet_a(config, _CellB)
