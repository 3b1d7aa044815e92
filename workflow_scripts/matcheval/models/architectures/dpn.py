"""Dual path networks for 32 × 32 images.

References
----------
Chen et al. (2017), Dual Path Networks, section 3.3 and table 1.
github kuangliu/pytorch-cifar, models/dpn.py: norms after the convolutions, and a 3 × 3 stem.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures.parts import GlobalAverage, NetworkConfig, normed

_STEM = 64
_BLOCKS = {26: (2, 2, 2, 2), 92: (3, 4, 20, 3)}
# For 96 inner channels in the first stage, whose number doubles with every stage: channels of the
# residual path in the first stage, and those that each block of a stage appends.
_WIDTH, _RESIDUAL, _APPENDED = 96, 256, (16, 32, 24, 128)


class _Block(nn.Module):
    """A bottleneck that adds to the first channels of its input, and appends further ones."""

    def __init__(
        self, inputs: int, inner: int, residual: int, appended: int, stride: int, groups: int
    ) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            normed(inputs, inner, 1),
            normed(inner, inner, 3, stride, groups),
            normed(inner, residual + appended, 1, active=False),
        )
        # The first block of a stage has the stride or, in the first stage, other channels.
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs == _STEM:
            self.shortcut = normed(inputs, residual + appended, 1, stride, active=False)
        self.residual = residual

    def forward(self, x: Tensor) -> Tensor:
        inner, x = self.layers(x), self.shortcut(x)
        split = self.residual
        added = x[:, :split] + inner[:, :split]
        return functional.relu(torch.cat([added, x[:, split:], inner[:, split:]], dim=1))


def dpn(config: NetworkConfig) -> nn.Module:
    """Build a dual path network of four stages."""
    inputs = _STEM
    blocks = []
    for stage, number in enumerate(_BLOCKS[config.depth]):
        residual = (_RESIDUAL << stage) * config.width // _WIDTH
        appended = _APPENDED[stage] * config.width // _WIDTH
        for block in range(number):
            stride = 2 if stage > 0 and block == 0 else 1
            inner = config.width << stage
            blocks.append(_Block(inputs, inner, residual, appended, stride, config.groups))
            inputs = residual + (block + 2) * appended
    return nn.Sequential(
        normed(config.channels, _STEM),
        *blocks,
        GlobalAverage(),
        nn.Linear(inputs, config.n_classes),
    )
