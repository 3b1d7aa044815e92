"""Networks by name of their architecture.

To add an architecture, write a function in `architectures/` like those there, and add it to
`sizes.SPECIFICATIONS`.
"""

from torch import nn

from matcheval.errors import InputError
from matcheval.models.architectures.parts import BUILDERS, NetworkConfig, Shape
from matcheval.models.sizes import SPECIFICATIONS, check_architecture


def build_model(
    architecture: str, *, width: int, depth: int, input_shape: Shape, n_classes: int,
    groups: int = 1,
) -> nn.Module:  # fmt: skip
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
    # They enter their architectures. An import here counts for the digest of the code.
    from matcheval.models.architectures import mobile, residual, resnet, small, stacked  # noqa: F401

    check_architecture(architecture, width, depth, groups)
    if n_classes < 2 or min(input_shape) < 1:
        raise InputError(
            f"cannot build a network for {n_classes} classes and images of shape {input_shape}"
        )
    least = SPECIFICATIONS[architecture].min_side
    if min(input_shape[:2]) < least:
        size = f"{input_shape[0]} × {input_shape[1]} pixels"
        problem = f"{architecture} does not accept images of {size}"
        remedy = f"Use images of at least {least} × {least} pixels, or another architecture"
        raise InputError(problem, field="architecture", remedy=remedy)
    return BUILDERS[architecture](NetworkConfig(width, depth, groups, input_shape, n_classes))
