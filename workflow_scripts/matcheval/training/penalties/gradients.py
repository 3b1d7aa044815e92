"""Penalty on the variance of the gradients of a linear head (Fishr)."""

import torch
from torch import Tensor


def head_gradient_variance(logits: Tensor, targets: Tensor, features: Tensor) -> Tensor:
    """Compute the variance over images of the cross entropy's gradients in a linear head.

    The gradient of an image's cross entropy is (p - y) zᵀ in the weights, and p - y in the biases.
    The means of its entries and of their squares over the images are matrix products, so that no
    gradient is computed image by image.

    Parameters
    ----------
    logits, targets : float tensors, shape (n, n_classes)
        Logits, and target distributions y.
    features : float tensor, shape (n, d)
        Input z of the head.

    Returns
    -------
    float tensor, shape (n_classes * d + n_classes,)
        Population variances of each weight's gradient, class by class, then of each bias's; with
        the graph of logits and features.

    References
    ----------
    Rame, Dancette & Cord (2022), Fishr: Invariant Gradient Variances for Out-of-Distribution
    Generalization.
    """
    errors = torch.softmax(logits, dim=1) - targets
    n = len(errors)
    inputs = torch.cat([features, torch.ones_like(features[:, :1])], dim=1)
    means = errors.T @ inputs / n
    variances = errors.square().T @ inputs.square() / n - means.square()
    return torch.cat([variances[:, :-1].flatten(), variances[:, -1]])


def moving_variances(previous: Tensor, variances: Tensor, decay: float) -> tuple[Tensor, Tensor]:
    """Update the moving averages of the domains' gradient variances.

    Parameters
    ----------
    previous : float tensor, shape (n_domains, k)
        Averages before, taken as constants; 0 at the start.
    variances : float tensor, shape (n_domains, k)
        Variances of this step.
    decay : float
        In [0, 1).

    Returns
    -------
    penalised : float tensor, shape (n_domains, k)
        The new averages divided by 1 - decay, so that the gradient in the variances is 1.
    averages : float tensor, shape (n_domains, k)
        The new averages, without graph, for the next step.

    References
    ----------
    Rame, Dancette & Cord (2022), with the division in DomainBed.
    """
    averages = decay * previous.detach() + (1 - decay) * variances
    return averages / (1 - decay), averages.detach()


def variance_difference(variances: Tensor) -> Tensor:
    """Compute the mean squared difference of gradient variances from their mean over domains.

    Parameters
    ----------
    variances : float tensor, shape (n_domains, k)

    Returns
    -------
    tensor, shape ()

    References
    ----------
    Rame, Dancette & Cord (2022).
    """
    return (variances - variances.mean(dim=0)).square().mean()
