"""ResNets: the three-stage ones for CIFAR, and the four-stage ones for ImageNet with a 3 × 3 stem.

Their squeeze-and-excitation versions (SENet) differ by one module per block.

References
----------
He et al. (2016), Deep Residual Learning for Image Recognition, sections 4.1 and 4.2.
Hu, Shen & Sun (2018), Squeeze-and-Excitation Networks.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures.parts import (
    Blueprint,
    convolution,
    he_normal_,
    stage_shapes,
)

_STEM = 64  # channels of the four-stage networks' stem, at any width
_REDUCTION = 16  # of the channels by squeeze-and-excitation


class SqueezeExcitation(nn.Module):
    """Channels weighted by what the mean over all positions says of them."""

    def __init__(self, channels: int, reduction: int = _REDUCTION) -> None:
        super().__init__()
        inner = max(1, channels // reduction)
        self.reduce = nn.Linear(channels, inner)
        self.expand = nn.Linear(inner, channels)

    def forward(self, x: Tensor) -> Tensor:
        """Weigh a map (n, channels, height, width)."""
        inner = functional.relu(self.reduce(x.mean(dim=(2, 3))))
        return x * torch.sigmoid(self.expand(inner))[:, :, None, None]


class _BlockA(nn.Module):
    """Basic block with a shortcut without parameters (option A)."""

    def __init__(self, inputs: int, outputs: int, stride: int, squeezed: bool) -> None:
        super().__init__()
        self.conv1 = convolution(inputs, outputs, stride=stride)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = convolution(outputs, outputs)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.excitation = SqueezeExcitation(outputs) if squeezed else nn.Identity()
        self.stride, self.padding = stride, outputs - inputs

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu(self.bn1(self.conv1(x)))
        inner = self.excitation(self.bn2(self.conv2(inner)))
        shortcut = x
        if self.stride != 1 or self.padding:
            front = self.padding // 2
            shortcut = functional.pad(
                x[:, :, :: self.stride, :: self.stride],
                (0, 0, 0, 0, front, self.padding - front),
            )
        return functional.relu(inner + shortcut)


class ResNetA(nn.Module):
    """ResNet of three stages for small images; the keys are those of the published weights."""

    def __init__(self, plan: Blueprint, *, squeezed: bool) -> None:
        super().__init__()
        width, blocks = plan.width, (plan.depth - 2) // 6
        self.conv1 = convolution(plan.channels, width)
        self.bn1 = nn.BatchNorm2d(width)
        shapes = list(stage_shapes(width, [width, 2 * width, 4 * width], [blocks] * 3))
        layers = [_BlockA(*shape, squeezed) for shape in shapes]
        self.layer1 = nn.Sequential(*layers[:blocks])
        self.layer2 = nn.Sequential(*layers[blocks : 2 * blocks])
        self.layer3 = nn.Sequential(*layers[2 * blocks :])
        self.linear = nn.Linear(4 * width, plan.n_classes)
        he_normal_(self, "fan_in")
        nn.init.kaiming_normal_(self.linear.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Give logits (n, n_classes) of images (n, channels, height, width)."""
        x = functional.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        logits: Tensor = self.linear(x.mean(dim=(2, 3)))
        return logits


def resnet_a(plan: Blueprint) -> nn.Module:
    """He et al.'s CIFAR ResNet, option A: depth 20, 32, 44, 56 or 110 at width 16."""
    return ResNetA(plan, squeezed=False)


def seresnet_a(plan: Blueprint) -> nn.Module:
    """The same with squeeze-and-excitation in each block (Hu et al., section 6.2)."""
    return ResNetA(plan, squeezed=True)


def resnet_imagenet(plan: Blueprint) -> nn.Module:
    """ResNet-18, 34, 50 or 101 with a 3 × 3 stem of stride 1 and no pooling after it."""
    return _four_stages(plan, squeezed=False)


def seresnet_imagenet(plan: Blueprint) -> nn.Module:
    """SE-ResNet-18, 34, 50 or 101 with the same stem."""
    return _four_stages(plan, squeezed=True)


_LAYERS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}


def _four_stages(plan: Blueprint, *, squeezed: bool) -> nn.Module:
    from timm.layers.squeeze_excite import SEModule
    from timm.models import resnet as timm

    width = plan.width
    arguments: dict[str, Any] = {}
    if squeezed:
        # The divisor keeps the paper's reduction; timm's default rounds to multiples of 8.
        arguments["attn_layer"] = partial(SEModule, rd_ratio=1 / _REDUCTION, rd_divisor=1)
    block: Any = timm.Bottleneck if plan.depth >= 50 else timm.BasicBlock
    model: nn.Module = timm.ResNet(
        block,
        _LAYERS[plan.depth],
        num_classes=plan.n_classes,
        in_chans=plan.channels,
        channels=(width, 2 * width, 4 * width, 8 * width),
        zero_init_last=False,
        block_args=arguments,
    )
    model.conv1 = convolution(plan.channels, _STEM)
    model.maxpool = nn.Identity()
    nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")
    return model
