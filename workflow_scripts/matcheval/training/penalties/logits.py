"""Penalties on logits."""

import torch
from torch import Tensor


def mean_square(logits: Tensor) -> Tensor:
    """Compute the penalty of spectral decoupling: the mean of the squared logits."""
    return logits.square().mean()


def cross_entropy_to_uniform(logits: Tensor) -> Tensor:
    """Compute the adversarial loss of SagNet: the cross entropy to the uniform distribution."""
    return -torch.log_softmax(logits, dim=1).mean()
