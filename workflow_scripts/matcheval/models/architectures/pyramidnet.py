"""PyramidNet: residual networks whose channels grow gradually with every block.

References
----------
Han, Kim & Kim (2017), Deep Pyramidal Residual Networks (additive, basic blocks).
"""

from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures.parts import (
    GlobalAverage,
    NetworkConfig,
    convolution,
    he_normal_,
)

_STEM = 16


class _PyramidBlock(nn.Module):
    """Norm, convolution, norm, ReLU, convolution, norm; the shortcut is zero-padded."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.BatchNorm2d(inputs),
            convolution(inputs, outputs, 3, stride),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            convolution(outputs, outputs),
            nn.BatchNorm2d(outputs),
        )
        self.stride, self.padding = stride, outputs - inputs

    def forward(self, x: Tensor) -> Tensor:
        inner: Tensor = self.inner(x)
        if self.stride != 1:
            x = functional.avg_pool2d(x, self.stride, ceil_mode=True)
        return inner + functional.pad(x, (0, 0, 0, 0, 0, self.padding))


def pyramidnet(config: NetworkConfig) -> nn.Module:
    """Build a PyramidNet of three stages of basic blocks."""
    per_stage = (config.depth - 2) // 6
    blocks: list[nn.Module] = []
    inputs = _STEM
    for block in range(3 * per_stage):
        # α channels are added in equal steps; each total is rounded.
        outputs = round(_STEM + config.width * (block + 1) / (3 * per_stage))
        stride = 2 if block in (per_stage, 2 * per_stage) else 1
        blocks.append(_PyramidBlock(inputs, outputs, stride))
        inputs = outputs
    model = nn.Sequential(
        convolution(config.channels, _STEM),
        nn.BatchNorm2d(_STEM),
        *blocks,
        nn.BatchNorm2d(inputs),
        nn.ReLU(inplace=True),
        GlobalAverage(),
        nn.Linear(inputs, config.n_classes),
    )
    he_normal_(model, "fan_out")
    return model
