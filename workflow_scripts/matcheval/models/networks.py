"""Networks: built by the name of their architecture, and as functions that return features.

To add an architecture, write a function in `architectures/` like those there, and add it to
`sizes.SPECIFICATIONS`.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from matcheval.errors import InputError
from matcheval.models.architectures.parts import BUILDERS, NetworkConfig, Shape
from matcheval.models.sizes import SPECIFICATIONS, check_architecture

Network = Callable[[Tensor], tuple[Tensor, Tensor | None]]
_NO_FEATURES = "Do not request features or statistics of it"


def build_model(
    architecture: str, *, width: int, depth: int, input_shape: Shape, n_classes: int,
    groups: int = 1,
) -> nn.Module:  # fmt: skip
    """Build a classifier of images (n, channels, height, width), with random initial weights."""
    # They enter their architectures. An import here counts for the digest of the code.
    from matcheval.models.architectures import mobile, residual, resnet, stacked  # noqa: F401

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


def as_network(model: nn.Module, *, features: bool, name: str) -> Network:
    """Wrap a model as a function that returns logits and, if requested, penultimate features."""
    if not features:
        return lambda images: (model(images), None)
    if hasattr(model, "forward_head") and hasattr(model, "forward_features"):
        timm: Any = model

        def timm_network(images: Tensor) -> tuple[Tensor, Tensor | None]:
            maps = timm.forward_features(images)
            pooled: Tensor = timm.forward_head(maps, pre_logits=True)
            return timm.forward_head(maps), _as_vectors(pooled, name)

        return timm_network
    inputs: list[Tensor] = []
    last_linear(model, name).register_forward_pre_hook(lambda _, args: inputs.append(args[0]))

    def network(images: Tensor) -> tuple[Tensor, Tensor | None]:
        inputs.clear()
        logits = model(images)
        if len(inputs) != 1:
            problem = f"the model's last linear layer ran {len(inputs)} times in one pass, not once"
            raise InputError(problem, file=name)
        return logits, _as_vectors(inputs.pop(), name)

    return network


def last_linear(model: nn.Module, name: str) -> nn.Linear:
    """Return the linear layer that a model registered last; raise an error if it has none."""
    linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
    if linears:
        return linears[-1]
    problem = "the model has no linear layer whose input could be its features"
    raise InputError(problem, file=name, field="outputs", remedy=_NO_FEATURES)


def as_trained_network(
    model: nn.Module, name: str
) -> tuple[Callable[[Tensor], tuple[Tensor, Tensor]], nn.Linear]:
    """Return a function from images to logits and features with gradients, and the last layer."""
    head = last_linear(model, name)
    calls: list[tuple[Tensor, Tensor]] = []

    def record_call(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        if module.training:
            calls.append((inputs[0], output))

    head.register_forward_hook(record_call)

    def network(images: Tensor) -> tuple[Tensor, Tensor]:
        calls.clear()
        logits = model(images)
        if len(calls) != 1 or calls[0][1] is not logits:
            problem = "the model's logits are not the output of its last linear layer"
            remedy = "Train it with an algorithm that needs no features, such as erm"
            raise InputError(problem, file=name, remedy=remedy)
        features, _ = calls.pop()
        return logits, _as_vectors(features, name)

    return network, head


def _as_vectors(features: Tensor, name: str) -> Tensor:
    """Return features as one vector per image; feature maps of 1 × 1 pixel are flattened."""
    if features.ndim == 4 and features.shape[2:] == torch.Size((1, 1)):
        features = features.flatten(1)
    if features.ndim != 2:
        problem = f"features of shape {tuple(features.shape)} are not one vector per image"
        raise InputError(problem, file=name, field="outputs", remedy=_NO_FEATURES)
    return features
