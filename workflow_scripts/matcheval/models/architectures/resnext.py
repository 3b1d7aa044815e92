"""ResNeXt of three stages for 32 × 32 images.

References
----------
Xie et al. (2017), Aggregated Residual Transformations, section 5.3.
"""

from torch import nn

from matcheval.models.architectures.parts import (
    GlobalAverage,
    NetworkConfig,
    convolution,
    he_normal_,
    stage_shapes,
)

_STEM = 64
_PLANES = (64, 128, 256)


def resnext(config: NetworkConfig) -> nn.Module:
    """Build a ResNeXt from torchvision's bottleneck block.

    Parameters
    ----------
    config : NetworkConfig
        `depth` is 9 n + 2 for n blocks per stage; `groups` is the cardinality, and `width` the
        channels of a group in the first stage. ResNeXt-29, 8×64d, has 8 groups and width 64.

    Returns
    -------
    torch.nn.Module
    """
    from torchvision.models.resnet import Bottleneck

    layers: list[nn.Module] = [
        convolution(config.channels, _STEM),
        nn.BatchNorm2d(_STEM),
        nn.ReLU(),
    ]
    outputs = [Bottleneck.expansion * planes for planes in _PLANES]
    for inputs, channels, stride in stage_shapes(_STEM, outputs, [(config.depth - 2) // 9] * 3):
        projection = None
        if inputs != channels:
            projection = nn.Sequential(
                convolution(inputs, channels, 1, stride), nn.BatchNorm2d(channels)
            )
        planes = channels // Bottleneck.expansion
        layers.append(
            Bottleneck(inputs, planes, stride, projection, config.groups, base_width=config.width)
        )
    model = nn.Sequential(*layers, GlobalAverage(), nn.Linear(outputs[-1], config.n_classes))
    he_normal_(model, "fan_out")
    return model
