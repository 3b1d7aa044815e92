"""Models as functions of images: logits, and on request the features before the last layer."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from matcheval.errors import InputError

Network = Callable[[Tensor], tuple[Tensor, Tensor | None]]


def as_network(model: nn.Module, *, features: bool, name: str) -> Network:
    """Make a function of images that gives logits and, perhaps, penultimate features.

    A model of timm is taken apart where timm does it: `forward_features`, then `forward_head`
    with and without `pre_logits`. Of any other one, the features are what its last `Linear`
    layer is given.

    Parameters
    ----------
    model : torch.nn.Module
        Maps images to logits (n, n_classes).
    features : bool
        Whether features are wanted.
    name : str
        The model's, for messages.

    Returns
    -------
    callable
        Maps images to logits and features (n, n_features), or None for those.

    Raises
    ------
    InputError
        If features are wanted of a model that has neither; when called, if they are no vectors.
    """
    if not features:
        return lambda images: (model(images), None)
    if hasattr(model, "forward_head") and hasattr(model, "forward_features"):
        return _timm_network(model, name)
    return _hooked_network(model, name)


def _timm_network(model: Any, name: str) -> Network:
    def network(images: Tensor) -> tuple[Tensor, Tensor | None]:
        maps = model.forward_features(images)
        found: Tensor = model.forward_head(maps, pre_logits=True)
        return model.forward_head(maps), _vectors(found, name)

    return network


def _hooked_network(model: nn.Module, name: str) -> Network:
    linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
    if not linears:
        raise InputError(
            "it has no linear layer, before which its features would be",
            file=name,
            field="outputs",
            remedy="Ask for no features or statistics of it",
        )
    inputs: list[Tensor] = []
    linears[-1].register_forward_pre_hook(lambda _, given: inputs.append(given[0]))

    def network(images: Tensor) -> tuple[Tensor, Tensor | None]:
        inputs.clear()
        logits = model(images)
        if len(inputs) != 1:
            raise InputError(f"its last linear layer ran {len(inputs)} times", file=name)
        return logits, _vectors(inputs.pop(), name)

    return network


def _vectors(features: Tensor, name: str) -> Tensor:
    """Features as one vector per image; maps of one pixel are such."""
    if features.ndim == 4 and features.shape[2:] == torch.Size((1, 1)):
        features = features.flatten(1)
    if features.ndim != 2:
        raise InputError(
            f"features of shape {tuple(features.shape)} are no vectors",
            file=name,
            field="outputs",
            remedy="Ask for no features or statistics of it",
        )
    return features
