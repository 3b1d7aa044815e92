"""RegNets for 32 × 32 images: timm's, with a stem and two stages of stride 1.

References
----------
Radosavovic et al. (2020), Designing Network Design Spaces, tables of RegNetX and RegNetY.
github kuangliu/pytorch-cifar, models/regnet.py: stem, strides, and a RegNetY-400MF with the stages
of RegNetX-400MF.
"""

from typing import Any

from torch import nn

from matcheval.models.architectures.parts import NetworkConfig, convolution

_STEM = 64
# By depth: blocks, w_a, w_m and group width of the published 200MF and 400MF.
_PARAMETERS = {41: (13, 36.44, 2.49, 8), 68: (22, 24.48, 2.54, 16)}


def regnet_x(config: NetworkConfig) -> nn.Module:
    """Build a RegNetX."""
    return _regnet(config, 0.0)


def regnet_y(config: NetworkConfig) -> nn.Module:
    """Build `regnet_x` with squeeze-and-excitation in each block."""
    return _regnet(config, 0.25)


def _regnet(config: NetworkConfig, excitation: float) -> nn.Module:
    from timm.models.regnet import RegNet, RegNetCfg

    blocks, slope, factor, group = _PARAMETERS[config.depth]
    parameters = RegNetCfg(
        depth=blocks, w0=24, wa=slope, wm=factor, group_size=group, stem_width=_STEM,
        se_ratio=excitation,
    )  # fmt: skip
    model: Any = RegNet(parameters, config.channels, config.n_classes, zero_init_last=False)
    model.stem.conv = convolution(config.channels, _STEM)
    for first in (model.s1.b1, model.s2.b1):
        first.conv2.conv.stride = first.downsample.conv.stride = (1, 1)
    whole: nn.Module = model
    return whole
