"""Penalty on the variance of the gradients of a linear head (Fishr)."""

import torch
from torch import Tensor


def head_gradient_variance(logits: Tensor, targets: Tensor, features: Tensor) -> Tensor:
    """Compute the variance over images of the cross entropy's gradients in a linear head."""
    errors = torch.softmax(logits, dim=1) - targets
    n = len(errors)
    inputs = torch.cat([features, torch.ones_like(features[:, :1])], dim=1)
    means = errors.T @ inputs / n
    variances = errors.square().T @ inputs.square() / n - means.square()
    return torch.cat([variances[:, :-1].flatten(), variances[:, -1]])


def moving_variances(previous: Tensor, variances: Tensor, decay: float) -> tuple[Tensor, Tensor]:
    """Update the moving averages of the domains' gradient variances."""
    averages = decay * previous.detach() + (1 - decay) * variances
    return averages / (1 - decay), averages.detach()


def variance_difference(variances: Tensor) -> Tensor:
    """Compute the mean squared difference of gradient variances from their mean over domains."""
    return (variances - variances.mean(dim=0)).square().mean()
