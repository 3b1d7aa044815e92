"""ResNeXt of three stages for 32 × 32 images.

References
----------
Xie et al. (2017), Aggregated Residual Transformations, section 5.3.
github kuangliu/pytorch-cifar, models/resnext.py: a 1 × 1 stem, and blocks with twice as many output
as inner channels.
"""

from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures.parts import (
    GlobalAverage,
    NetworkConfig,
    convolution,
    he_normal_,
    normed,
    stage_shapes,
)

_STEM = 64
_PLANES = (64, 128, 256)


def resnext(config: NetworkConfig) -> nn.Module:
    """Build a ResNeXt from torchvision's bottleneck block."""
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


class _DoublingBlock(nn.Module):
    """Bottleneck of `inner` channels and 2 × `inner` outputs."""

    def __init__(self, inputs: int, outputs: int, stride: int, groups: int) -> None:
        super().__init__()
        inner = outputs // 2
        self.layers = nn.Sequential(
            normed(inputs, inner, 1),
            normed(inner, inner, 3, stride, groups),
            normed(inner, outputs, 1, active=False),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = normed(inputs, outputs, 1, stride, active=False)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.layers(x) + self.shortcut(x))


def resnext_doubling(config: NetworkConfig) -> nn.Module:
    """Build pytorch-cifar's ResNeXt, whose blocks have twice as many output as inner channels."""
    outputs = [2 * config.groups * config.width << stage for stage in range(3)]
    shapes = stage_shapes(_STEM, outputs, [(config.depth - 2) // 9] * 3)
    return nn.Sequential(
        normed(config.channels, _STEM, 1),
        *[_DoublingBlock(*shape, config.groups) for shape in shapes],
        GlobalAverage(),
        nn.Linear(outputs[-1], config.n_classes),
    )
