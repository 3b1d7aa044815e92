"""DenseNet-BC of three blocks for 32 × 32 images, and of four blocks as for ImageNet.

References
----------
Huang et al. (2017), Densely Connected Convolutional Networks, section 3 and tables 1 and 2.
"""

from torch import nn

from matcheval.models.architectures.parts import (
    GlobalAverage,
    NetworkConfig,
    convolution,
    he_normal_,
)


def densenet(config: NetworkConfig) -> nn.Module:
    """Build a DenseNet-BC from torchvision's blocks."""
    layers = (config.depth - 4) // 6
    model = _network(config, (layers,) * 3)
    he_normal_(model, "fan_in")
    return model


def densenet_imagenet(config: NetworkConfig) -> nn.Module:
    """Build a DenseNet-BC of four blocks with a 3 × 3 stem of stride 1 and without pooling."""
    return _network(config, _BLOCKS[config.depth])


_BLOCKS = {121: (6, 12, 24, 16), 169: (6, 12, 32, 32)}


def _network(config: NetworkConfig, blocks: tuple[int, ...]) -> nn.Module:
    from torchvision.models.densenet import DenseNet

    whole = DenseNet(
        growth_rate=config.width,
        block_config=blocks,
        num_init_features=2 * config.width,
        num_classes=config.n_classes,
    )
    # Leave out the stem for ImageNet, which reduces height and width to a quarter.
    parts = [(name, part) for name, part in whole.features.named_children() if name[-1] != "0"]
    model = nn.Sequential()
    model.add_module("stem", convolution(config.channels, 2 * config.width))
    for name, part in parts:
        model.add_module(name, part)
    model.add_module("relu", nn.ReLU(inplace=True))
    model.add_module("pool", GlobalAverage())
    model.add_module("linear", whole.classifier)
    return model
