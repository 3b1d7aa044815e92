"""Randomised style and content of features (SagNet): style is mean and variance of a vector."""

import torch
from torch import Tensor

EPSILON = 1e-5


def randomized_style(
    features: Tensor, own: Tensor, permutation: Tensor, epsilon: float = EPSILON
) -> Tensor:
    """Give features a style between their own and that of other images."""
    standard, mean, variance = _standardized(features, epsilon)
    share = own[:, None]
    mean = share * mean + (1 - share) * mean[permutation]
    variance = share * variance + (1 - share) * variance[permutation]
    return standard * (variance + epsilon).sqrt() + mean


def randomized_content(features: Tensor, permutation: Tensor, epsilon: float = EPSILON) -> Tensor:
    """Give features the content of other images, taken as a constant, in their own style."""
    standard, mean, variance = _standardized(features, epsilon)
    return standard[permutation].detach() * (variance + epsilon).sqrt() + mean


def _standardized(features: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    variance, mean = torch.var_mean(features, dim=1, keepdim=True, correction=1)
    return (features - mean) / (variance + epsilon).sqrt(), mean, variance
