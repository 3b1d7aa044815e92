"""DenseNet-BC of three blocks for 32 × 32 images.

References
----------
Huang et al. (2017), Densely Connected Convolutional Networks, section 3 and table 2.
"""

from torch import nn

from matcheval.models.architectures.parts import Blueprint, GlobalAverage, convolution, he_normal_


def densenet(plan: Blueprint) -> nn.Module:
    """DenseNet-BC of a depth and growth rate (`width`), from torchvision's blocks.

    Bottlenecks of 4 k channels, and transitions that halve the channels; 2 k channels leave the
    first convolution.
    """
    from torchvision.models.densenet import DenseNet

    layers = (plan.depth - 4) // 6
    whole = DenseNet(
        growth_rate=plan.width,
        block_config=(layers,) * 3,
        num_init_features=2 * plan.width,
        num_classes=plan.n_classes,
    )
    # All of it but ImageNet's stem, which reduces the map to a quarter.
    parts = [(name, part) for name, part in whole.features.named_children() if name[-1] != "0"]
    model = nn.Sequential()
    model.add_module("stem", convolution(plan.channels, 2 * plan.width))
    for name, part in parts:
        model.add_module(name, part)
    model.add_module("relu", nn.ReLU(inplace=True))
    model.add_module("pool", GlobalAverage())
    model.add_module("linear", whole.classifier)
    he_normal_(model, "fan_in")
    return model
