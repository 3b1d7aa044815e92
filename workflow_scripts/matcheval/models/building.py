"""Networks by name of their architecture.

To add an architecture, write a function in `architectures/` like those there, and add it to
`_BUILDERS` and to `sizes.SPECIFICATIONS`.
"""

from collections.abc import Callable

from torch import nn

from matcheval.errors import InputError
from matcheval.models.architectures.mobile import (
    efficientnet,
    efficientnet_lite,
    mobilenet,
    mobilenet_v2,
    regnet_x,
    regnet_y,
    shufflenet,
    shufflenet_v2,
)
from matcheval.models.architectures.parts import NetworkConfig, Shape
from matcheval.models.architectures.residual import (
    dpn,
    pyramidnet,
    repvgg,
    resnext,
    resnext_doubling,
    shake_shake,
)
from matcheval.models.architectures.resnet import (
    preact,
    preact_bottleneck,
    preact_imagenet,
    preact_unnormed,
    resnet_7x7,
    resnet_a,
    resnet_b,
    resnet_imagenet,
    sepreact_unnormed,
    seresnet_a,
    seresnet_imagenet,
)
from matcheval.models.architectures.small import cnn, linear, mlp, resnet
from matcheval.models.architectures.stacked import (
    densenet,
    densenet_imagenet,
    googlenet,
    pnasnet_a,
    pnasnet_b,
    vgg,
    vgg_three_linear,
)
from matcheval.models.sizes import SPECIFICATIONS, check_architecture

__all__ = ["Shape", "build_model", "check_architecture"]


def build_model(
    architecture: str,
    *,
    width: int,
    depth: int,
    input_shape: Shape,
    n_classes: int,
    groups: int = 1,
) -> nn.Module:
    """Build a classifier with initial weights drawn from torch's global generator.

    Parameters
    ----------
    architecture : str
        `linear`: multinomial logistic regression; has neither width nor depth.
        `mlp`: `depth` hidden layers of `width` units.
        `cnn`: `depth` 3 × 3 convolutions of `width` channels, each followed by a halving of the
        feature map.
        `resnet`: `depth` residual blocks with batch norm, the first of `width` channels; each
        further block halves the feature map and doubles the channels (He et al. 2016).
        The others are the published networks for 32 × 32 images; see `architectures`.
    width, depth : int
        As described in `sizes.SPECIFICATIONS`; 0 for `linear`.
    input_shape : (int, int, int)
        Height, width and channels of the images.
    n_classes : int
        Number of classes, at least 2.
    groups : int
        Groups of the convolutions of `resnext`; 1 for all others.

    Returns
    -------
    torch.nn.Module
        Maps normalised float32 images (n, channels, height, width) to float32 logits
        (n, n_classes).

    Raises
    ------
    InputError
        If the architecture is unknown, cannot have the size, or does not accept the images.
    """
    check_architecture(architecture, width, depth, groups)
    if n_classes < 2 or min(input_shape) < 1:
        raise InputError(
            f"cannot build a network for {n_classes} classes and images of shape {input_shape}"
        )
    least = SPECIFICATIONS[architecture].min_side
    if min(input_shape[:2]) < least:
        raise InputError(
            f"{architecture} does not accept images of {input_shape[0]} × {input_shape[1]} pixels",
            field="architecture",
            remedy=f"Use images of at least {least} × {least} pixels, or another architecture",
        )
    return _BUILDERS[architecture](NetworkConfig(width, depth, groups, input_shape, n_classes))


_BUILDERS: dict[str, Callable[[NetworkConfig], nn.Module]] = {
    "linear": linear,
    "mlp": mlp,
    "cnn": cnn,
    "resnet": resnet,
    "vgg": vgg,
    "resnet_a": resnet_a,
    "resnet_imagenet": resnet_imagenet,
    "densenet": densenet,
    "resnext": resnext,
    "preact": preact,
    "preact_bottleneck": preact_bottleneck,
    "preact_imagenet": preact_imagenet,
    "shake_shake": shake_shake,
    "pyramidnet": pyramidnet,
    "seresnet_a": seresnet_a,
    "seresnet_imagenet": seresnet_imagenet,
    "shufflenet": shufflenet,
    "shufflenet_v2": shufflenet_v2,
    "densenet_imagenet": densenet_imagenet,
    "resnext_doubling": resnext_doubling,
    "preact_unnormed": preact_unnormed,
    "sepreact_unnormed": sepreact_unnormed,
    "dpn": dpn,
    "efficientnet": efficientnet,
    "googlenet": googlenet,
    "mobilenet": mobilenet,
    "mobilenet_v2": mobilenet_v2,
    "pnasnet_a": pnasnet_a,
    "pnasnet_b": pnasnet_b,
    "regnet_x": regnet_x,
    "regnet_y": regnet_y,
    "resnet_b": resnet_b,
    "repvgg": repvgg,
    "vgg_three_linear": vgg_three_linear,
    "efficientnet_lite": efficientnet_lite,
    "resnet_7x7": resnet_7x7,
}
