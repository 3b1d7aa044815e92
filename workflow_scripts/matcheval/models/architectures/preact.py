"""Pre-activation ResNets.

References
----------
He et al. (2016), Identity Mappings in Deep Residual Networks, figure 4e and appendix.
"""

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures.parts import (
    Blueprint,
    GlobalAverage,
    convolution,
    he_normal_,
    stage_shapes,
)

_EXPANSION = 4  # of a bottleneck
_STAGES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}


class _Block(nn.Module):
    """x + f(x), f of convolutions with batch norm and ReLU in front of each.

    Where shapes change, the shortcut is a 1 × 1 convolution of the activated input.
    """

    def __init__(self, inputs: int, outputs: int, stride: int, bottleneck: bool) -> None:
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
        self.shortcut: nn.Module | None = None
        if stride != 1 or inputs != outputs:
            self.shortcut = convolution(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        inner = active = functional.relu(self.norms[0](x))
        for i, layer in enumerate(self.convolutions):
            inner = layer(inner if i == 0 else functional.relu(self.norms[i](inner)))
        return inner + (x if self.shortcut is None else self.shortcut(active))


def preact(plan: Blueprint) -> nn.Module:
    """Three stages of basic blocks: depth 20, 56, 110 at width 16."""
    return _network(plan, [(plan.depth - 2) // 6] * 3, bottleneck=False)


def preact_bottleneck(plan: Blueprint) -> nn.Module:
    """Three stages of bottlenecks: depth 164 or 1001 at width 16."""
    return _network(plan, [(plan.depth - 2) // 9] * 3, bottleneck=True)


def preact_imagenet(plan: Blueprint) -> nn.Module:
    """Four stages of basic blocks with a 3 × 3 stem: depth 18 or 34 at width 64."""
    return _network(plan, _STAGES[plan.depth], bottleneck=False)


def _network(plan: Blueprint, blocks: Sequence[int], *, bottleneck: bool) -> nn.Module:
    factor = _EXPANSION if bottleneck else 1
    outputs = [factor * (plan.width << stage) for stage in range(len(blocks))]
    shapes = stage_shapes(plan.width, outputs, blocks)
    model = nn.Sequential(
        convolution(plan.channels, plan.width),
        *[_Block(*shape, bottleneck) for shape in shapes],
        nn.BatchNorm2d(outputs[-1]),
        nn.ReLU(inplace=True),
        GlobalAverage(),
        nn.Linear(outputs[-1], plan.n_classes),
    )
    he_normal_(model, "fan_out")
    return model
