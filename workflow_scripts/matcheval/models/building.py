"""Models by name: modules that take normalised float32 NCHW images and return logits.

To add an architecture, write a function in `architectures/` like those there, add a line to
`_BUILDERS`, and one to `sizes.SPECIFICATIONS`.
"""

from collections.abc import Callable

from torch import nn

from matcheval.errors import InputError
from matcheval.models.architectures.densenet import densenet
from matcheval.models.architectures.parts import Blueprint, Shape
from matcheval.models.architectures.preact import preact, preact_bottleneck, preact_imagenet
from matcheval.models.architectures.pyramidnet import pyramidnet
from matcheval.models.architectures.resnet import (
    resnet_a,
    resnet_imagenet,
    seresnet_a,
    seresnet_imagenet,
)
from matcheval.models.architectures.resnext import resnext
from matcheval.models.architectures.shake_shake import shake_shake
from matcheval.models.architectures.small import cnn, linear, mlp, resnet
from matcheval.models.architectures.vgg import vgg
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
    """Make a classifier with fresh weights, drawn from torch's global generator.

    Parameters
    ----------
    architecture : str
        `linear`: multinomial logistic regression; has neither width nor depth.
        `mlp`: `depth` hidden layers of `width` units.
        `cnn`: `depth` 3 × 3 convolutions of `width` channels, the map halved after each.
        `resnet`: `depth` residual blocks with batch norm, the first of `width` channels, each
        further one halving the map and doubling the channels (He et al. 2016).
        The others are the published networks for 32 × 32 images; see `architectures`.
    width, depth : int
        As `sizes.SPECIFICATIONS` says; 0 for `linear`.
    input_shape : (int, int, int)
        Height, width and channels of the images.
    n_classes : int
        At least 2.
    groups : int
        Groups of the convolutions of `resnext`; 1 for all others.

    Returns
    -------
    torch.nn.Module
        Maps float32 (n, channels, height, width) to float32 logits (n, n_classes).

    Raises
    ------
    InputError
        If the architecture is unknown, or a number is not as said above.
    """
    check_architecture(architecture, width, depth, groups)
    if n_classes < 2 or min(input_shape) < 1:
        raise InputError(f"cannot tell {n_classes} classes by images of {input_shape}")
    least = SPECIFICATIONS[architecture].min_side
    if min(input_shape[:2]) < least:
        raise InputError(
            f"{architecture} takes no images of {input_shape[0]} × {input_shape[1]} pixels",
            field="architecture",
            remedy=f"Images of at least {least} × {least} pixels, or another architecture",
        )
    return _BUILDERS[architecture](Blueprint(width, depth, groups, input_shape, n_classes))


_BUILDERS: dict[str, Callable[[Blueprint], nn.Module]] = {
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
}
