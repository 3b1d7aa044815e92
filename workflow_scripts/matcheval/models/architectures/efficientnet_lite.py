"""EfficientNet-Lite0 for photographs, as timm builds it.

EfficientNet-B0 without squeeze-and-excitation and with ReLU6 in place of SiLU (github
tensorflow/tpu, models/official/efficientnet/lite; Tan & Le 2019). Unlike `efficientnet` for small
images, its stem and stages halve the image as published, so that published weights fit it.
"""

from typing import Any

from torch import nn

from matcheval.models.architectures.parts import NetworkConfig


def efficientnet_lite(config: NetworkConfig) -> nn.Module:
    """Build timm's `tf_efficientnet_lite0`, without dropout."""
    import timm

    model: Any = timm.create_model(
        "tf_efficientnet_lite0", num_classes=config.n_classes, in_chans=config.channels
    )
    whole: nn.Module = model
    return whole
