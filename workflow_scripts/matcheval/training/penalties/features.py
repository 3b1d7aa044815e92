"""Penalties on features: differences of moments, entropy, and alignment of product kernels."""

from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor
from torch.nn import functional


def moment_difference(one: Tensor, other: Tensor) -> Tensor:
    """Compute DomainBed's CORAL penalty of two domains.

    The mean squared difference of the means, plus that of the covariances. The paper has the
    covariances only, and their squared Frobenius distance divided by 4 d².

    Parameters
    ----------
    one, other : float tensors, shapes (n, d) and (m, d)
        Features, of at least two images each.

    Returns
    -------
    tensor, shape ()

    References
    ----------
    Sun & Saenko (2016), Deep CORAL; Gulrajani & Lopez-Paz (2021), DomainBed.
    """
    means = one.mean(dim=0) - other.mean(dim=0)
    return means.square().mean() + (_covariance(one) - _covariance(other)).square().mean()


def mean_moment_difference(features: Sequence[Tensor]) -> Tensor:
    """Compute the mean of `moment_difference` over all pairs of domains.

    Parameters
    ----------
    features : sequence of float tensors, shapes (n_e, d)
        Features of each domain.

    Returns
    -------
    tensor, shape ()
        0 if there is one domain.
    """
    pairs = [moment_difference(*pair) for pair in combinations(features, 2)]
    return torch.stack(pairs).mean() if pairs else features[0].new_zeros(())


def _covariance(features: Tensor) -> Tensor:
    centred = features - features.mean(dim=0)
    return centred.T @ centred / (len(features) - 1)


def von_neumann_entropy(features: Tensor) -> Tensor:
    """Compute the entropy -Σ λ log λ of the eigenvalues of the features' autocorrelation.

    The autocorrelation is ZᵀZ / n, with the features normalised to length 1 as the rows of Z. The
    eigenvalues are those of the smaller of ZᵀZ / n and ZZᵀ / n, which agree but for zeros; their
    gradient is finite for repeated ones as well, unlike that of singular vectors.

    Parameters
    ----------
    features : float tensor, shape (n, d)

    Returns
    -------
    tensor, shape ()
        In nats, in [0, log min(n, d)].

    References
    ----------
    Kim et al. (2023), VNE: An Effective Method for Improving Deep Representation by Manipulating
    Eigenvalue Distribution.
    """
    rows = functional.normalize(features, dim=1)
    n, d = rows.shape
    gram = (rows.T @ rows if d < n else rows @ rows.T) / n
    eigenvalues = torch.linalg.eigvalsh(gram).clamp_min(0)
    smallest = torch.finfo(eigenvalues.dtype).eps
    entropy: Tensor = -(eigenvalues * eigenvalues.clamp_min(smallest).log()).sum()
    return entropy


def squared_distances(features: Tensor) -> Tensor:
    """Compute the squared Euclidean distances of all pairs.

    Parameters
    ----------
    features : float tensor, shape (n, d)

    Returns
    -------
    float tensor, shape (n, n)
        At least 0.
    """
    centred = features - features.mean(dim=0).detach()  # for less cancellation
    squares = centred.square().sum(dim=1)
    return (squares[:, None] + squares - 2 * centred @ centred.T).clamp_min(0)


def median_square(distances: Tensor) -> Tensor:
    """Compute the median of the squared distances that are not 0, as a constant.

    Parameters
    ----------
    distances : float tensor, shape (n, n)
        Symmetric.

    Returns
    -------
    tensor, shape ()
        Without graph; 1 if all distances are 0.
    """
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
    """Compute the relative chi-square divergence of joint and product distribution (JPDA).

    The distributions are of features and labels with the domain: drawn together, and drawn apart.
    With K_ij = exp(-|z_i - z_j|² / σ) [y_i = y_j], L_ij = [l_i = l_j], P = K ∘ L,
    H = (1 - α)/m² (KK) ∘ (LL) + α/m PP, the column means h of P, and θ = (H + ridge I)⁻¹ h, it is
    2 hᵀθ - θᵀHθ - 1.

    Parameters
    ----------
    features : float tensor, shape (m, d)
    labels, domains : int64 tensors, shape (m,)
        Classes, and indices of the domains.
    alpha : float
        Share of the joint distribution in the mixture that both are compared with, in [0, 1].
    ridge : float
        Added to the diagonal, above 0.
    width : float tensor, shape (), optional
        Width σ of the kernel; by default the median of the squared distances that are not 0, taken
        as a constant.

    Returns
    -------
    tensor, shape ()

    References
    ----------
    Chen et al. (2023), Domain Generalization by Joint-Product Distribution Alignment.
    """
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
