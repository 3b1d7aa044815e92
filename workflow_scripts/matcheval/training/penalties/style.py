"""Randomised style and content of features (SagNet): style is mean and variance of a vector."""

import torch
from torch import Tensor

EPSILON = 1e-5


def randomized_style(
    features: Tensor, own: Tensor, permutation: Tensor, epsilon: float = EPSILON
) -> Tensor:
    """Give features a style between their own and that of other images.

    Parameters
    ----------
    features : float tensor, shape (n, d)
        Pooled features. The paper randomises feature maps of the third stage, per channel.
    own : float tensor, shape (n,)
        Share of an image's own style, in [0, 1].
    permutation : int64 tensor, shape (n,)
        The image whose style is mixed in.
    epsilon : float
        Added to the variances.

    Returns
    -------
    float tensor, shape (n, d)

    References
    ----------
    Nam et al. (2021), Reducing Domain Gap by Reducing Style Bias.
    """
    standard, mean, variance = _standardized(features, epsilon)
    share = own[:, None]
    mean = share * mean + (1 - share) * mean[permutation]
    variance = share * variance + (1 - share) * variance[permutation]
    return standard * (variance + epsilon).sqrt() + mean


def randomized_content(features: Tensor, permutation: Tensor, epsilon: float = EPSILON) -> Tensor:
    """Give features the content of other images, taken as a constant, in their own style.

    Parameters
    ----------
    features : float tensor, shape (n, d)
        Pooled features.
    permutation : int64 tensor, shape (n,)
        The image whose content is taken.
    epsilon : float
        Added to the variances.

    Returns
    -------
    float tensor, shape (n, d)
        With the graph of means and variances only.

    References
    ----------
    Nam et al. (2021).
    """
    standard, mean, variance = _standardized(features, epsilon)
    return standard[permutation].detach() * (variance + epsilon).sqrt() + mean


def _standardized(features: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    variance, mean = torch.var_mean(features, dim=1, keepdim=True, correction=1)
    return (features - mean) / (variance + epsilon).sqrt(), mean, variance
