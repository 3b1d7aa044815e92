"""A loaded model with its transform and label space, and the digest of its weights."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from matcheval.models.transforms import Transform


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model that is ready for inference.

    Attributes
    ----------
    module : torch.nn.Module
        Maps normalised float32 images (n, channels, height, width) to logits (n, n_classes).
    transform : Transform
        The evaluation transform of its images.
    n_classes : int or None
        Number of classes; None if it is known only from the logits.
    classes : tuple of str or None
        Names of the classes by label, the wnids for ImageNet's 1,000 classes; None if unknown.
    weights_sha256 : str
        The `state_digest` of its weights.
    description : str
        What the model is, recorded in the provenance of its predictions.
    """

    module: nn.Module
    transform: Transform
    n_classes: int | None
    classes: tuple[str, ...] | None
    weights_sha256: str
    description: str


def state_digest(state: Mapping[str, Tensor]) -> str:
    """Compute the SHA-256 of weights: name, dtype, shape and bytes of each tensor, by name."""
    digest = hashlib.sha256()
    for name in sorted(state):
        tensor = state[name].detach().cpu().contiguous()
        dtype = str(tensor.dtype).removeprefix("torch.")
        digest.update(f"{name} {dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()
