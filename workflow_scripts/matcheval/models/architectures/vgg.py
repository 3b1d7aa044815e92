"""VGG with batch norm and a single linear layer, as is usual for 32 × 32 images.

References
----------
Simonyan & Zisserman (2015), Very Deep Convolutional Networks, table 1 (A, B, D, E).
Ioffe & Szegedy (2015), Batch Normalization.
"""

from torch import nn

from matcheval.models.architectures.parts import GlobalAverage, NetworkConfig, he_normal_

_CONFIGURATIONS = {11: "A", 13: "B", 16: "D", 19: "E"}


def vgg(config: NetworkConfig) -> nn.Module:
    """Build a VGG from torchvision's layers.

    Parameters
    ----------
    config : NetworkConfig
        `depth` is 11, 13, 16 or 19; `width` is the channels of the first stage, usually 64.

    Returns
    -------
    torch.nn.Module
    """
    from torchvision.models.vgg import cfgs, make_layers

    # torchvision's configurations are those of width 64.
    layers = [
        entry if isinstance(entry, str) else entry * config.width // 64
        for entry in cfgs[_CONFIGURATIONS[config.depth]]
    ]
    features = make_layers(layers, batch_norm=True)
    last = 8 * config.width
    if config.channels != 3:
        features[0] = nn.Conv2d(config.channels, features[0].out_channels, 3, padding=1)
    he_normal_(features, "fan_out")
    for module in features.modules():
        if isinstance(module, nn.Conv2d) and module.bias is not None:
            nn.init.zeros_(module.bias)
    # Five halvings leave one position for 32 × 32 pixels, and several for larger images.
    return nn.Sequential(features, GlobalAverage(), nn.Linear(last, config.n_classes))
