"""Pre-activation ResNets of three stages for CIFAR, and of four stages as for ImageNet.

References
----------
He et al. (2016), Identity Mappings in Deep Residual Networks, figure 4e and appendix.
github kuangliu/pytorch-cifar, models/preact_resnet.py and senet.py: networks without a last norm.
"""

from collections.abc import Sequence

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
from matcheval.models.architectures.resnet import SqueezeExcitation

_EXPANSION = 4  # output channels of a bottleneck per inner channel
_STAGES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}


class _Block(nn.Module):
    """Residual block x + f(x), where f applies batch norm and ReLU before each convolution."""

    def __init__(
        self, inputs: int, outputs: int, stride: int, bottleneck: bool, squeezed: bool = False
    ) -> None:
        super().__init__()
        if bottleneck:
            inner = outputs // _EXPANSION
            convolutions: tuple[nn.Conv2d, ...] = (
                convolution(inputs, inner, 1),
                convolution(inner, inner, 3, stride),
                convolution(inner, outputs, 1),
            )
        else:
            convolutions = (
                convolution(inputs, outputs, 3, stride),
                convolution(outputs, outputs, 3),
            )
        self.norms = nn.ModuleList(nn.BatchNorm2d(c.in_channels) for c in convolutions)
        self.convolutions = nn.ModuleList(convolutions)
        self.excitation = SqueezeExcitation(outputs) if squeezed else nn.Identity()
        self.shortcut: nn.Module | None = None
        if stride != 1 or inputs != outputs:
            self.shortcut = convolution(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        inner = active = functional.relu(self.norms[0](x))
        for i, layer in enumerate(self.convolutions):
            inner = layer(inner if i == 0 else functional.relu(self.norms[i](inner)))
        result: Tensor = self.excitation(inner)
        return result + (x if self.shortcut is None else self.shortcut(active))


def preact(config: NetworkConfig) -> nn.Module:
    """Build a network of three stages of basic blocks."""
    return _network(config, [(config.depth - 2) // 6] * 3, bottleneck=False)


def preact_bottleneck(config: NetworkConfig) -> nn.Module:
    """Build a network of three stages of bottlenecks."""
    return _network(config, [(config.depth - 2) // 9] * 3, bottleneck=True)


def preact_imagenet(config: NetworkConfig) -> nn.Module:
    """Build a network of four stages of basic blocks with a 3 × 3 stem."""
    return _network(config, _STAGES[config.depth], bottleneck=False)


def preact_unnormed(config: NetworkConfig) -> nn.Module:
    """Build pytorch-cifar's network of four stages: no norm and ReLU after the last block."""
    factor = _EXPANSION if config.depth >= 50 else 1
    stem = convolution(config.channels, config.width)
    return _unnormed(config, stem, factor, squeezed=False)


def sepreact_unnormed(config: NetworkConfig) -> nn.Module:
    """Build pytorch-cifar's SENet: `preact_unnormed` with squeeze-and-excitation and a normed stem.

    Parameters
    ----------
    config : NetworkConfig
        `depth` is 18; `width` is the channels of the first stage, usually 64.

    Returns
    -------
    torch.nn.Module
    """
    return _unnormed(config, normed(config.channels, config.width), 1, squeezed=True)


def _unnormed(config: NetworkConfig, stem: nn.Module, factor: int, *, squeezed: bool) -> nn.Module:
    outputs = [factor * (config.width << stage) for stage in range(4)]
    shapes = stage_shapes(config.width, outputs, _STAGES[config.depth])
    return nn.Sequential(
        stem,
        *[_Block(*shape, factor != 1, squeezed) for shape in shapes],
        GlobalAverage(),
        nn.Linear(outputs[-1], config.n_classes),
    )


def _network(config: NetworkConfig, blocks: Sequence[int], *, bottleneck: bool) -> nn.Module:
    factor = _EXPANSION if bottleneck else 1
    outputs = [factor * (config.width << stage) for stage in range(len(blocks))]
    shapes = stage_shapes(config.width, outputs, blocks)
    model = nn.Sequential(
        convolution(config.channels, config.width),
        *[_Block(*shape, bottleneck) for shape in shapes],
        nn.BatchNorm2d(outputs[-1]),
        nn.ReLU(inplace=True),
        GlobalAverage(),
        nn.Linear(outputs[-1], config.n_classes),
    )
    he_normal_(model, "fan_out")
    return model
