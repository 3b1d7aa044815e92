"""ResNeXt, PyramidNet, Shake-Shake, dual path networks and RepVGG, for 32 × 32 images.

References
----------
Xie et al. (2017), Aggregated Residual Transformations, section 5.3 (ResNeXt).
Han, Kim & Kim (2017), Deep Pyramidal Residual Networks (additive, basic blocks).
Gastaldi (2017), Shake-Shake regularization, arXiv 1705.07485 (Shake-Shake-Image).
Chen et al. (2017), Dual Path Networks, section 3.3 and table 1.
Ding et al. (2021), RepVGG, sections 3.2 and 3.4 and table 2 (A0): as it is trained, with parallel
branches. github chenyaofo/pytorch-cifar-models, repvgg.py: strides and names of weights.
github kuangliu/pytorch-cifar, resnext.py: a 1 × 1 stem, and blocks with twice as many output as
inner channels; dpn.py: norms after the convolutions, and a 3 × 3 stem.
"""

from collections import OrderedDict
from itertools import islice

import torch
from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures import parts
from matcheval.models.architectures.parts import NetworkConfig, architecture

_STEM = 64
_NARROW_STEM = 16


@architecture
def resnext(config: NetworkConfig) -> nn.Module:
    """Build a ResNeXt of three stages from torchvision's bottleneck block."""
    from torchvision.models.resnet import Bottleneck

    stem = parts.convolution(config.channels, _STEM)
    outputs = [Bottleneck.expansion * _STEM << stage for stage in range(3)]
    shapes = parts.stage_shapes(_STEM, outputs, [(config.depth - 2) // 9] * 3)
    blocks = [
        Bottleneck(
            inputs, channels // Bottleneck.expansion, stride,
            parts.shortcut(inputs, channels, stride), config.groups, base_width=config.width,
        )
        for inputs, channels, stride in shapes
    ]  # fmt: skip
    model = nn.Sequential(
        stem, nn.BatchNorm2d(_STEM), nn.ReLU(), *blocks, *parts.classifier(outputs[-1], config)
    )
    parts.he_normal_(model, "fan_out")
    return model


class _DoublingBlock(nn.Module):
    """ResNeXt block: a bottleneck with half as many inner channels as outputs."""

    def __init__(self, inputs: int, outputs: int, stride: int, groups: int) -> None:
        super().__init__()
        inner = outputs // 2
        self.layers = parts.bottleneck(inputs, inner, outputs, stride, groups)
        self.shortcut = parts.shortcut(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.layers(x) + self.shortcut(x))


@architecture
def resnext_doubling(config: NetworkConfig) -> nn.Module:
    """Build pytorch-cifar's ResNeXt, whose blocks have twice as many output as inner channels."""
    outputs = [2 * config.groups * config.width << stage for stage in range(3)]
    shapes = parts.stage_shapes(_STEM, outputs, [(config.depth - 2) // 9] * 3)
    return nn.Sequential(
        parts.normed(config.channels, _STEM, 1),
        *[_DoublingBlock(*shape, config.groups) for shape in shapes],
        *parts.classifier(outputs[-1], config),
    )


class _PyramidBlock(nn.Module):
    """PyramidNet block: norm, convolution, norm, ReLU, convolution, norm; zero-padded shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.BatchNorm2d(inputs),
            parts.convolution(inputs, outputs, 3, stride),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            parts.convolution(outputs, outputs),
            nn.BatchNorm2d(outputs),
        )
        self.stride, self.padding = stride, outputs - inputs

    def forward(self, x: Tensor) -> Tensor:
        inner: Tensor = self.inner(x)
        if self.stride != 1:
            x = functional.avg_pool2d(x, self.stride, ceil_mode=True)
        return inner + functional.pad(x, (0, 0, 0, 0, 0, self.padding))


@architecture
def pyramidnet(config: NetworkConfig) -> nn.Module:
    """Build a PyramidNet of three stages of basic blocks."""
    per_stage = (config.depth - 2) // 6
    blocks: list[nn.Module] = []
    inputs = _NARROW_STEM
    for block in range(3 * per_stage):
        # α channels are added in equal steps; each total is rounded.
        outputs = round(_NARROW_STEM + config.width * (block + 1) / (3 * per_stage))
        stride = 2 if block in (per_stage, 2 * per_stage) else 1
        blocks.append(_PyramidBlock(inputs, outputs, stride))
        inputs = outputs
    model = nn.Sequential(
        parts.convolution(config.channels, _NARROW_STEM),
        nn.BatchNorm2d(_NARROW_STEM),
        *blocks,
        nn.BatchNorm2d(inputs),
        nn.ReLU(inplace=True),
        *parts.classifier(inputs, config),
    )
    parts.he_normal_(model, "fan_out")
    return model


class ShakeBlock(parts.Noisy):
    """Residual block shortcut(x) + a f(x) + (1 - a) g(x): a is random in training, else 1/2."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = _shake_branch(inputs, outputs, stride)
        self.second = _shake_branch(inputs, outputs, stride)
        self.shortcut = nn.Identity() if inputs == outputs else _Halving(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the block."""
        first, second = self.first(x), self.second(x)
        if not self.training:
            mixed: Tensor = (first + second) / 2
        else:
            draws = torch.rand(2, len(x), 1, 1, 1, generator=self.noise)
            forward, backward = draws.to(x.device, x.dtype)
            difference = first - second
            # The detached term gives the sum the value for `forward`; its gradient is that for
            # `backward`.
            mixed = second + backward * difference
            mixed = mixed + ((forward - backward) * difference).detach()
        return self.shortcut(x) + mixed


class _Halving(nn.Module):
    """Shake-Shake shortcut: two subsampled maps, one pixel apart, with a convolution each."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.here = parts.convolution(inputs, outputs // 2, 1)
        self.there = parts.convolution(inputs, outputs - outputs // 2, 1)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(x)
        shifted = functional.pad(x[:, :, 1:, 1:], (0, 1, 0, 1))
        step = self.stride
        both = self.here(x[:, :, ::step, ::step]), self.there(shifted[:, :, ::step, ::step])
        return self.norm(torch.cat(both, dim=1))


def _shake_branch(inputs: int, outputs: int, stride: int) -> nn.Module:
    return nn.Sequential(
        nn.ReLU(),
        parts.convolution(inputs, outputs, 3, stride),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
        parts.convolution(outputs, outputs),
        nn.BatchNorm2d(outputs),
    )


@architecture
def shake_shake(config: NetworkConfig) -> nn.Module:
    """Build a Shake-Shake network of three stages."""
    shapes = parts.stage_shapes(_NARROW_STEM, config.widths(3), [(config.depth - 2) // 6] * 3)
    model = nn.Sequential(
        parts.convolution(config.channels, _NARROW_STEM),
        nn.BatchNorm2d(_NARROW_STEM),
        *[ShakeBlock(*shape) for shape in shapes],
        nn.ReLU(inplace=True),
        *parts.classifier(4 * config.width, config),
    )
    parts.he_normal_(model, "fan_out")
    return model


_DPN_BLOCKS = {26: (2, 2, 2, 2), 92: (3, 4, 20, 3)}
# For 96 inner channels in the first stage, whose number doubles with every stage: channels of the
# residual path in the first stage, and those that each block of a stage appends.
_WIDTH, _RESIDUAL, _APPENDED = 96, 256, (16, 32, 24, 128)


class _DualPathBlock(nn.Module):
    """A bottleneck that adds to the first channels of its input, and appends further ones."""

    def __init__(
        self, inputs: int, inner: int, residual: int, appended: int, stride: int, groups: int
    ) -> None:
        super().__init__()
        self.layers = parts.bottleneck(inputs, inner, residual + appended, stride, groups)
        # The first block of a stage has the stride or, in the first stage, other channels.
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs == _STEM:
            self.shortcut = parts.normed(inputs, residual + appended, 1, stride, active=False)
        self.residual = residual

    def forward(self, x: Tensor) -> Tensor:
        inner, x = self.layers(x), self.shortcut(x)
        split = self.residual
        added = x[:, :split] + inner[:, :split]
        return functional.relu(torch.cat([added, x[:, split:], inner[:, split:]], dim=1))


@architecture
def dpn(config: NetworkConfig) -> nn.Module:
    """Build a dual path network of four stages: DPN-26 or DPN-92, by depth."""
    inputs = _STEM
    blocks = []
    for stage, number in enumerate(_DPN_BLOCKS[config.depth]):
        residual = (_RESIDUAL << stage) * config.width // _WIDTH
        appended = _APPENDED[stage] * config.width // _WIDTH
        for block in range(number):
            stride = 2 if stage > 0 and block == 0 else 1
            inner = config.width << stage
            blocks.append(_DualPathBlock(inputs, inner, residual, appended, stride, config.groups))
            inputs = residual + (block + 2) * appended
    return nn.Sequential(
        parts.normed(config.channels, _STEM), *blocks, *parts.classifier(inputs, config)
    )


_REPVGG_BLOCKS = (2, 4, 14, 1)  # of the stages after the stem


def _conv_norm(inputs: int, outputs: int, size: int, stride: int) -> nn.Module:
    return nn.Sequential(
        OrderedDict(
            conv=parts.convolution(inputs, outputs, size, stride), bn=nn.BatchNorm2d(outputs)
        )
    )


class _RepBlock(nn.Module):
    """ReLU of the sum of a 3 × 3, a 1 × 1 and, where the shape stays, an identity branch."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        same = inputs == outputs and stride == 1
        self.rbr_identity = nn.BatchNorm2d(inputs) if same else None
        self.rbr_dense = _conv_norm(inputs, outputs, 3, stride)
        self.rbr_1x1 = _conv_norm(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        total = self.rbr_dense(x) + self.rbr_1x1(x)
        if self.rbr_identity is not None:
            total = total + self.rbr_identity(x)
        return functional.relu(total)


@architecture
def repvgg(config: NetworkConfig) -> nn.Module:
    """Build a RepVGG-A0 whose stem and first stage have stride 1."""
    width = config.width
    channels = [width, 2 * width, 4 * width, 80 * width // 3]
    stem = _RepBlock(config.channels, width, 1)
    shapes = parts.stage_shapes(width, channels, _REPVGG_BLOCKS)
    blocks = iter([_RepBlock(*shape) for shape in shapes])
    stages = {
        f"stage{stage}": nn.Sequential(*islice(blocks, number))
        for stage, number in enumerate(_REPVGG_BLOCKS, 1)
    }
    head = nn.Linear(channels[-1], config.n_classes)
    return nn.Sequential(OrderedDict(stage0=stem, **stages, gap=parts.GlobalAverage(), linear=head))
