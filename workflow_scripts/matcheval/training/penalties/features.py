"""Penalties on features: differences of moments, entropy, and alignment of product kernels."""

from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor
from torch.nn import functional


def moment_difference(one: Tensor, other: Tensor) -> Tensor:
    """Compute DomainBed's CORAL penalty of two domains."""
    means = one.mean(dim=0) - other.mean(dim=0)
    return means.square().mean() + (_covariance(one) - _covariance(other)).square().mean()


def mean_moment_difference(features: Sequence[Tensor]) -> Tensor:
    """Compute the mean of `moment_difference` over all pairs of domains."""
    pairs = [moment_difference(*pair) for pair in combinations(features, 2)]
    return torch.stack(pairs).mean() if pairs else features[0].new_zeros(())


def _covariance(features: Tensor) -> Tensor:
    centred = features - features.mean(dim=0)
    return centred.T @ centred / (len(features) - 1)


def von_neumann_entropy(features: Tensor) -> Tensor:
    """Compute the entropy -Σ λ log λ of the eigenvalues of the features' autocorrelation."""
    rows = functional.normalize(features, dim=1)
    n, d = rows.shape
    gram = (rows.T @ rows if d < n else rows @ rows.T) / n
    eigenvalues = torch.linalg.eigvalsh(gram).clamp_min(0)
    smallest = torch.finfo(eigenvalues.dtype).eps
    entropy: Tensor = -(eigenvalues * eigenvalues.clamp_min(smallest).log()).sum()
    return entropy


def squared_distances(features: Tensor) -> Tensor:
    """Compute the squared Euclidean distances of all pairs."""
    centred = features - features.mean(dim=0).detach()  # for less cancellation
    squares = centred.square().sum(dim=1)
    return (squares[:, None] + squares - 2 * centred @ centred.T).clamp_min(0)


def median_square(distances: Tensor) -> Tensor:
    """Compute the median of the squared distances that are not 0, as a constant."""
    n = len(distances)
    upper = torch.triu_indices(n, n, offset=1, device=distances.device)
    values = distances.detach()[upper[0], upper[1]]
    median = values.masked_fill(values == 0, torch.nan).nanquantile(0.5)
    return torch.where(median.isnan(), torch.ones_like(median), median)


def joint_product_divergence(
    features: Tensor,
    labels: Tensor,
    domains: Tensor,
    *,
    alpha: float,
    ridge: float,
    width: Tensor | None = None,
) -> Tensor:
    """Compute the relative chi-square divergence of joint and product distribution (JPDA)."""
    m = len(features)
    distances = squared_distances(features)
    sigma = median_square(distances) if width is None else width
    same_class = (labels[:, None] == labels).to(features.dtype)
    same_domain = (domains[:, None] == domains).to(features.dtype)
    kernel = (-distances / sigma).exp() * same_class
    joint = kernel * same_domain
    apart = (kernel @ kernel) * (same_domain @ same_domain)
    mixture = (1 - alpha) / m**2 * apart + alpha / m * joint @ joint
    means = joint.mean(dim=0)
    eye = torch.eye(m, dtype=features.dtype, device=features.device)
    theta = torch.linalg.solve(mixture + ridge * eye, means)
    divergence: Tensor = 2 * means @ theta - theta @ mixture @ theta - 1
    return divergence
