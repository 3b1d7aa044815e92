"""Similarity of images of the same class (SelfReg)."""

import torch
from torch import Generator, Tensor
from torch.nn import functional


def within_classes(labels: Tensor, generator: Generator) -> Tensor:
    """Draw a permutation that takes every image to one of its class."""
    shuffled = torch.randperm(len(labels), generator=generator).to(labels.device)
    permutation = torch.empty_like(labels)
    # Both orders go through the classes one after the other.
    permutation[labels.argsort(stable=True)] = shuffled[labels[shuffled].argsort(stable=True)]
    return permutation


def dissimilarity(
    logits: Tensor,
    features: Tensor,
    projected: Tensor,
    permutations: tuple[Tensor, Tensor],
    share: float,
    feature_weight: float,
) -> Tensor:
    """Compute SelfReg's penalty: distances to images, and to mixtures of images, of the same class.

    With logits o and projections p of the features f, their permutations o₁, p₁ and o₂, p₂, and
    mixtures o₃ = λ o₁ + (1 - λ) o₂ and p₃ alike, it is λ [MSE(o, o₁) + w MSE(f, p₁)] +
    (1 - λ) [MSE(o, o₃) + w MSE(f, p₃)].

    Parameters
    ----------
    logits : float tensor, shape (n, n_classes)
    features, projected : float tensors, shape (n, d)
    permutations : pair of int64 tensors, shape (n,)
        By `within_classes`.
    share : float
        Share λ, in [0, 1].
    feature_weight : float
        Weight w.

    Returns
    -------
    tensor, shape ()

    References
    ----------
    Kim et al. (2021), SelfReg: Self-supervised Contrastive Regularization for Domain
    Generalization; Gulrajani & Lopez-Paz (2021), DomainBed.
    """
    one, other = permutations

    def distance(one: Tensor, other: Tensor) -> Tensor:
        return functional.mse_loss(logits, one) + feature_weight * functional.mse_loss(
            features, other
        )

    def mixed(values: Tensor) -> Tensor:
        return share * values[one] + (1 - share) * values[other]

    single = distance(logits[one], projected[one])
    return share * single + (1 - share) * distance(mixed(logits), mixed(projected))
