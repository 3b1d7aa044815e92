"""ResNeXt of three stages for 32 × 32 images.

References
----------
Xie et al. (2017), Aggregated Residual Transformations, section 5.3.
"""

from torch import nn

from matcheval.models.architectures.parts import (
    Blueprint,
    GlobalAverage,
    convolution,
    he_normal_,
    stage_shapes,
)

_STEM = 64
_PLANES = (64, 128, 256)


def resnext(plan: Blueprint) -> nn.Module:
    """ResNeXt-29 (8×64d: 8 groups, width 64) and its like, from torchvision's block."""
    from torchvision.models.resnet import Bottleneck

    layers: list[nn.Module] = [convolution(plan.channels, _STEM), nn.BatchNorm2d(_STEM), nn.ReLU()]
    outputs = [Bottleneck.expansion * planes for planes in _PLANES]
    for inputs, channels, stride in stage_shapes(_STEM, outputs, [(plan.depth - 2) // 9] * 3):
        projection = None
        if inputs != channels:
            projection = nn.Sequential(
                convolution(inputs, channels, 1, stride), nn.BatchNorm2d(channels)
            )
        planes = channels // Bottleneck.expansion
        layers.append(
            Bottleneck(inputs, planes, stride, projection, plan.groups, base_width=plan.width)
        )
    model = nn.Sequential(*layers, GlobalAverage(), nn.Linear(outputs[-1], plan.n_classes))
    he_normal_(model, "fan_out")
    return model
