"""DenseNet-BC of three blocks for 32 × 32 images.

References
----------
Huang et al. (2017), Densely Connected Convolutional Networks, section 3 and table 2.
"""

from torch import nn

from matcheval.models.architectures.parts import (
    GlobalAverage,
    NetworkConfig,
    convolution,
    he_normal_,
)


def densenet(config: NetworkConfig) -> nn.Module:
    """Build a DenseNet-BC from torchvision's blocks.

    The bottlenecks have 4 k channels, the transitions halve the channels, and the first convolution
    has 2 k output channels.

    Parameters
    ----------
    config : NetworkConfig
        `depth` is 6 n + 4 for n layers per block; `width` is the growth rate k.

    Returns
    -------
    torch.nn.Module
    """
    from torchvision.models.densenet import DenseNet

    layers = (config.depth - 4) // 6
    whole = DenseNet(
        growth_rate=config.width,
        block_config=(layers,) * 3,
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
    he_normal_(model, "fan_in")
    return model
