"""VGG with batch norm for 32 × 32 images, with a single linear layer or with three.

References
----------
Simonyan & Zisserman (2015), Very Deep Convolutional Networks, table 1 (A, B, D, E).
Ioffe & Szegedy (2015), Batch Normalization.
github chenyaofo/pytorch-cifar-models, pytorch_cifar_models/vgg.py: three linear layers.
"""

from collections import OrderedDict
from typing import Any

from torch import nn

from matcheval.models.architectures.parts import (
    Dropout,
    GlobalAverage,
    NetworkConfig,
    he_normal_,
)

_CONFIGURATIONS = {11: "A", 13: "B", 16: "D", 19: "E"}


def vgg(config: NetworkConfig) -> nn.Module:
    """Build a VGG from torchvision's layers."""
    # Five halvings leave one position for 32 × 32 pixels, and several for larger images.
    features = _features(config)
    return nn.Sequential(features, GlobalAverage(), nn.Linear(8 * config.width, config.n_classes))


def vgg_three_linear(config: NetworkConfig) -> nn.Module:
    """Build a VGG with two hidden linear layers and dropout."""
    width = 8 * config.width
    hidden = [
        layer
        for _ in range(2)
        for layer in (nn.Linear(width, width), nn.ReLU(inplace=True), Dropout(0.5))
    ]
    classifier = nn.Sequential(*hidden, nn.Linear(width, config.n_classes))
    parts = {"features": _features(config), "pool": GlobalAverage(), "classifier": classifier}
    return nn.Sequential(OrderedDict(parts))


def _features(config: NetworkConfig) -> nn.Module:
    from torchvision.models.vgg import cfgs, make_layers

    # torchvision's configurations are those of width 64.
    layers = [
        entry if isinstance(entry, str) else entry * config.width // 64
        for entry in cfgs[_CONFIGURATIONS[config.depth]]
    ]
    features: Any = make_layers(layers, batch_norm=True)
    if config.channels != 3:
        features[0] = nn.Conv2d(config.channels, features[0].out_channels, 3, padding=1)
    he_normal_(features, "fan_out")
    for module in features.modules():
        if isinstance(module, nn.Conv2d) and module.bias is not None:
            nn.init.zeros_(module.bias)
    whole: nn.Module = features
    return whole
