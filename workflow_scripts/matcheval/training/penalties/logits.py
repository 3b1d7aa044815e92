"""Penalties on logits."""

import torch
from torch import Tensor


def mean_square(logits: Tensor) -> Tensor:
    """Compute the penalty of spectral decoupling: the mean of the squared logits.

    The paper has half the sum over the classes; DomainBed has the mean over images and classes.

    Parameters
    ----------
    logits : float tensor, shape (n, n_classes)

    Returns
    -------
    tensor, shape ()

    References
    ----------
    Pezeshki et al. (2021), Gradient Starvation; Gulrajani & Lopez-Paz (2021),
    DomainBed.
    """
    return logits.square().mean()


def cross_entropy_to_uniform(logits: Tensor) -> Tensor:
    """Compute the adversarial loss of SagNet: the cross entropy to the uniform distribution.

    Parameters
    ----------
    logits : float tensor, shape (n, n_classes)
        Logits of the style head.

    Returns
    -------
    tensor, shape ()
        At least log n_classes, reached by equal logits; in nats.

    References
    ----------
    Nam et al. (2021), Reducing Domain Gap by Reducing Style Bias.
    """
    return -torch.log_softmax(logits, dim=1).mean()
