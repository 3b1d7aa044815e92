"""ResNets and pre-activation ResNets of three stages for CIFAR, and of four as for ImageNet.

The squeeze-and-excitation networks (SENet) differ from them by one module per block. `resnet` is
for images of any size, such as the 8 × 8 digits.

References
----------
He et al. (2016), Deep Residual Learning for Image Recognition, sections 4.1 and 4.2.
Hu, Shen & Sun (2018), Squeeze-and-Excitation Networks.
github chenyaofo/pytorch-cifar-models, pytorch_cifar_models/resnet.py: `resnet_b`'s weights by name.
He et al. (2016), Identity Mappings in Deep Residual Networks, figure 4e and appendix (`preact`).
github kuangliu/pytorch-cifar, models/preact_resnet.py and senet.py: networks without a last norm.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures import parts
from matcheval.models.architectures.parts import NetworkConfig, architecture

_STEM = 64  # output channels of the four-stage networks' stem, at any width
_LAYERS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}
_EXPANSION = 4  # output channels of a bottleneck per inner channel
_REDUCTION = 16  # factor by which squeeze-and-excitation reduces the channels


class SqueezeExcitation(nn.Module):
    """Squeeze-and-excitation: weights the channels by a function of their global averages."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        inner = max(1, channels // _REDUCTION)
        self.reduce = nn.Linear(channels, inner)
        self.expand = nn.Linear(inner, channels)

    def forward(self, x: Tensor) -> Tensor:
        """Weight the channels of a feature map."""
        inner = functional.relu(self.reduce(x.mean(dim=(2, 3))))
        return x * torch.sigmoid(self.expand(inner))[:, :, None, None]


class _BlockA(nn.Module):
    """Basic block whose shortcut has no parameters: subsampled and zero-padded (option A)."""

    def __init__(self, inputs: int, outputs: int, stride: int, squeezed: bool) -> None:
        super().__init__()
        self.conv1 = parts.convolution(inputs, outputs, stride=stride)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = parts.convolution(outputs, outputs)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.excitation = SqueezeExcitation(outputs) if squeezed else nn.Identity()
        self.stride, self.padding = stride, outputs - inputs

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu(self.bn1(self.conv1(x)))
        inner = self.excitation(self.bn2(self.conv2(inner)))
        same = x
        if self.stride != 1 or self.padding:
            front = self.padding // 2
            same = functional.pad(
                x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, front, self.padding - front)
            )
        return functional.relu(inner + same)


@architecture
def resnet(config: NetworkConfig) -> nn.Module:
    """Build a ResNet of `depth` blocks, each but the first halving the map, doubling channels."""
    widths = config.widths(config.depth)
    blocks = [
        _ResidualBlock(*shape) for shape in parts.stage_shapes(widths[0], widths, [1] * len(widths))
    ]
    return nn.Sequential(
        parts.convolution(config.channels, config.width),
        nn.BatchNorm2d(config.width),
        nn.ReLU(),
        *blocks,
        *parts.classifier(widths[-1], config),
    )


class _ResidualBlock(nn.Module):
    """Block relu(f(x) + shortcut(x)), where f is two 3 × 3 convolutions with batch norm."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = parts.convolution(inputs, outputs, 3, stride)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = parts.convolution(outputs, outputs)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.shortcut = parts.shortcut(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu(self.first_norm(self.first(x)))
        residual: Tensor = self.second_norm(self.second(inner)) + self.shortcut(x)
        return functional.relu(residual)


@architecture
def resnet_a(config: NetworkConfig, *, squeezed: bool = False) -> nn.Module:
    """Build He et al.'s ResNet for CIFAR with shortcuts of option A."""
    model = _three_stage_resnet(config, partial(_BlockA, squeezed=squeezed), "linear")
    parts.he_normal_(model, "fan_in")
    nn.init.kaiming_normal_(model.get_parameter("linear.weight"))
    return model


@architecture
def seresnet_a(config: NetworkConfig) -> nn.Module:
    """Build `resnet_a` with squeeze-and-excitation in each block (Hu et al., section 6.2)."""
    return resnet_a(config, squeezed=True)


@architecture
def resnet_b(config: NetworkConfig) -> nn.Module:
    """Build a ResNet for CIFAR of torchvision's block, with projections as shortcuts (option B)."""
    from torchvision.models.resnet import BasicBlock

    def block(inputs: int, outputs: int, stride: int) -> BasicBlock:
        return BasicBlock(inputs, outputs, stride, parts.shortcut(inputs, outputs, stride))

    model = _three_stage_resnet(config, block, "fc")
    parts.he_normal_(model, "fan_out")
    return model


def _three_stage_resnet(
    config: NetworkConfig, block: Callable[[int, int, int], nn.Module], head: str
) -> nn.Sequential:
    """Build a ResNet of three stages, whose state dict has the keys of published weights."""
    width, blocks = config.width, (config.depth - 2) // 6
    stem = parts.convolution(config.channels, width)
    layers = [block(*shape) for shape in parts.stage_shapes(width, config.widths(3), [blocks] * 3)]
    stages = {
        f"layer{stage + 1}": nn.Sequential(*layers[stage * blocks : (stage + 1) * blocks])
        for stage in range(3)
    }
    return nn.Sequential(
        OrderedDict(
            conv1=stem, bn1=nn.BatchNorm2d(width), relu=nn.ReLU(inplace=True), **stages,
            pool=parts.GlobalAverage(), **{head: nn.Linear(4 * width, config.n_classes)},
        )
    )  # fmt: skip


@architecture
def resnet_imagenet(
    config: NetworkConfig, *, squeezed: bool = False, small_stem: bool = True
) -> nn.Module:
    """Build a four-stage ResNet, by default with a 3 × 3 stem of stride 1, no pooling after it."""
    from timm.layers.squeeze_excite import SEModule
    from timm.models import resnet as timm

    arguments: dict[str, Any] = {}
    if squeezed:
        # Divisor 1 keeps the paper's reduction; timm's default rounds to multiples of 8.
        arguments["attn_layer"] = partial(SEModule, rd_ratio=1 / _REDUCTION, rd_divisor=1)
    block: Any = timm.Bottleneck if config.depth >= 50 else timm.BasicBlock
    model: nn.Module = timm.ResNet(
        block,
        _LAYERS[config.depth],
        num_classes=config.n_classes,
        in_chans=config.channels,
        channels=tuple(config.widths(4)),
        zero_init_last=False,
        block_args=arguments,
    )
    if small_stem:
        model.conv1 = parts.convolution(config.channels, _STEM)
        model.maxpool = nn.Identity()
        nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")
    return model


@architecture
def resnet_7x7(config: NetworkConfig) -> nn.Module:
    """Build the ResNet for photographs, with a 7 × 7 stem of stride 2 and pooling after it."""
    return resnet_imagenet(config, small_stem=False)


@architecture
def seresnet_imagenet(config: NetworkConfig) -> nn.Module:
    """Build `resnet_imagenet` with squeeze-and-excitation in each block."""
    return resnet_imagenet(config, squeezed=True)


class _PreactBlock(nn.Module):
    """Residual block x + f(x), where f applies batch norm and ReLU before each convolution."""

    def __init__(
        self, inputs: int, outputs: int, stride: int, expansion: int, squeezed: bool = False
    ) -> None:
        super().__init__()
        inner = outputs // expansion
        basic = [(inputs, outputs, 3, stride), (outputs, outputs, 3)]
        bottleneck = [(inputs, inner, 1), (inner, inner, 3, stride), (inner, outputs, 1)]
        shapes = basic if expansion == 1 else bottleneck
        convolutions = [parts.convolution(*shape) for shape in shapes]
        self.norms = nn.ModuleList(nn.BatchNorm2d(c.in_channels) for c in convolutions)
        self.convolutions = nn.ModuleList(convolutions)
        self.excitation = SqueezeExcitation(outputs) if squeezed else nn.Identity()
        self.shortcut: nn.Module | None = None
        if stride != 1 or inputs != outputs:
            self.shortcut = parts.convolution(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        inner = active = functional.relu(self.norms[0](x))
        for i, layer in enumerate(self.convolutions):
            inner = layer(inner if i == 0 else functional.relu(self.norms[i](inner)))
        result: Tensor = self.excitation(inner)
        return result + (x if self.shortcut is None else self.shortcut(active))


@architecture
def preact(config: NetworkConfig) -> nn.Module:
    """Build a pre-activation ResNet of three stages of basic blocks."""
    return _build_preact(config, [(config.depth - 2) // 6] * 3)


@architecture
def preact_bottleneck(config: NetworkConfig) -> nn.Module:
    """Build a pre-activation ResNet of three stages of bottlenecks."""
    return _build_preact(config, [(config.depth - 2) // 9] * 3, _EXPANSION)


@architecture
def preact_imagenet(config: NetworkConfig) -> nn.Module:
    """Build a pre-activation ResNet of four stages of basic blocks, with a 3 × 3 stem."""
    return _build_preact(config, _LAYERS[config.depth])


@architecture
def preact_unnormed(config: NetworkConfig) -> nn.Module:
    """Build pytorch-cifar's four-stage PreActResNet, without norm and ReLU after the last block."""
    expansion = _EXPANSION if config.depth >= 50 else 1
    return _build_preact(config, _LAYERS[config.depth], expansion, normed=False)


@architecture
def sepreact_unnormed(config: NetworkConfig) -> nn.Module:
    """Build pytorch-cifar's SENet: `preact_unnormed` with excitation and a norm in the stem."""
    return _build_preact(config, _LAYERS[config.depth], normed=False, squeezed=True)


def _build_preact(
    config: NetworkConfig, blocks: Sequence[int], expansion: int = 1, *, normed: bool = True,
    squeezed: bool = False,
) -> nn.Module:  # fmt: skip
    """Build a pre-activation ResNet of `blocks` per stage; with `normed`, a last norm and ReLU."""
    stem = (parts.normed if squeezed else parts.convolution)(config.channels, config.width)
    outputs = [expansion * width for width in config.widths(len(blocks))]
    shapes = parts.stage_shapes(config.width, outputs, blocks)
    layers = [_PreactBlock(*shape, expansion, squeezed) for shape in shapes]
    last = [nn.BatchNorm2d(outputs[-1]), nn.ReLU(inplace=True)] if normed else []
    model = nn.Sequential(stem, *layers, *last, *parts.classifier(outputs[-1], config))
    if normed:
        parts.he_normal_(model, "fan_out")
    return model
