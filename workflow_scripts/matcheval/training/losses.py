"""Losses of logits and target distributions, averaged over the batch.

Every loss takes targets as distributions over the classes, because mixup and label smoothing
make soft ones; a hard label is a distribution with all its mass on one class, for which each
loss is the one in its paper.

To add a loss, write a function of logits, targets and parameter, add a line to `_LOSSES`, its
name to `training.LOSSES`, and its parameter, if any, to `training.recipe.LOSS_PARAMETERS`.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from matcheval.training.recipe import LOSS_PARAMETERS

Loss = Callable[[Tensor, Tensor], Tensor]

# The kernel's width in Kumar et al. (2018) and in the implementations that followed.
_MMCE_WIDTH = 0.4
# Below it sqrt counts as flat: its slope at 0 is infinite.
_MMCE_FLOOR = 1e-10


def make_loss(name: str, parameter: float | None = None) -> Loss:
    """Get a loss by name.

    Parameters
    ----------
    name : str
        One of `training.LOSSES`.
    parameter : float, optional
        The loss's parameter, checked by `Recipe`; by default as in `LOSS_PARAMETERS`.

    Returns
    -------
    callable
        Of logits and targets, both float (n, n_classes), to a scalar tensor.

    Raises
    ------
    KeyError
        If the name is unknown; a `Recipe` has checked it.
    """
    function = _LOSSES[name]
    if parameter is None:
        parameter = LOSS_PARAMETERS[name].default if name in LOSS_PARAMETERS else 0.0

    def loss(logits: Tensor, targets: Tensor) -> Tensor:
        return function(logits, targets, parameter)

    return loss


def cross_entropy(logits: Tensor, targets: Tensor, parameter: float = 0.0) -> Tensor:
    """Cross entropy in nats, the mean of -Σ_k t_k log p_k; `parameter` is not used."""
    return -(targets * functional.log_softmax(logits, dim=1)).sum(dim=1).mean()


def focal(logits: Tensor, targets: Tensor, gamma: float) -> Tensor:
    """Focal loss, the mean of -Σ_k t_k (1 - p_k)^γ log p_k.

    References
    ----------
    Lin et al. (2017), Focal Loss for Dense Object Detection, equation 4.
    """
    log_p = functional.log_softmax(logits, dim=1)
    # 1 - p by expm1, exact near p = 1; the floor keeps the power's slope finite for γ < 1.
    complement = (-torch.expm1(log_p)).clamp_min(torch.finfo(log_p.dtype).eps)
    return -(targets * complement**gamma * log_p).sum(dim=1).mean()


def brier(logits: Tensor, targets: Tensor, parameter: float = 0.0) -> Tensor:
    """Brier score of all classes, the mean of Σ_k (p_k - t_k)², in [0, 2].

    `parameter` is not used.

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability, equation 2.
    """
    return (functional.softmax(logits, dim=1) - targets).square().sum(dim=1).mean()


def label_smoothing(logits: Tensor, targets: Tensor, alpha: float) -> Tensor:
    """Cross entropy with targets (1 - α) t + α / n_classes.

    References
    ----------
    Szegedy et al. (2016), Rethinking the Inception Architecture, section 7.
    """
    return cross_entropy(logits, (1 - alpha) * targets + alpha / logits.shape[1])


def mmce(logits: Tensor, targets: Tensor, weight: float) -> Tensor:
    """Cross entropy plus λ times the maximum mean calibration error of the batch.

    With confidences r_i, the highest probabilities, and c_i, whether that class is right
    (with soft targets: the target mass on it), MMCE² = Σ_ij (c_i - r_i)(c_j - r_j) k(r_i, r_j)
    / m², where k(r, r') = exp(-|r - r'| / 0.4); the loss takes its root.

    References
    ----------
    Kumar, Sarawagi & Jain (2018), Trainable Calibration Measures for Neural Networks from
    Kernel Mean Embeddings.
    """
    confidence, predicted = functional.softmax(logits, dim=1).max(dim=1)
    excess = targets.gather(1, predicted[:, None])[:, 0] - confidence
    kernel = torch.exp(-(confidence[:, None] - confidence[None, :]).abs() / _MMCE_WIDTH)
    squared = excess @ kernel @ excess / len(excess) ** 2
    return cross_entropy(logits, targets) + weight * squared.clamp_min(_MMCE_FLOOR).sqrt()


def mmce_weighted(logits: Tensor, targets: Tensor, weight: float) -> Tensor:
    """Cross entropy plus λ times the maximum mean calibration error, right and wrong weighed alike.

    As `mmce`, but with v_i = c_i (1 - r_i) / n - (1 - c_i) r_i / (m - n) in place of
    (c_i - r_i) / m, n = Σ c_i being the number of right ones: each side has a mean of its own,
    however few are wrong. A side without members counts nothing.

    References
    ----------
    Kumar, Sarawagi & Jain (2018), section 3.3; λ = 2 as in Mukhoti et al. (2020).
    """
    confidence, predicted = functional.softmax(logits, dim=1).max(dim=1)
    right = targets.gather(1, predicted[:, None])[:, 0]
    n_right, n_wrong = right.sum(), (1 - right).sum()
    tiny = torch.finfo(right.dtype).eps
    excess = right * (1 - confidence) / n_right.clamp_min(tiny)
    excess = excess - (1 - right) * confidence / n_wrong.clamp_min(tiny)
    kernel = torch.exp(-(confidence[:, None] - confidence[None, :]).abs() / _MMCE_WIDTH)
    squared = excess @ kernel @ excess
    return cross_entropy(logits, targets) + weight * squared.clamp_min(_MMCE_FLOOR).sqrt()


def focal_sample_dependent(logits: Tensor, targets: Tensor, parameter: float = 0.0) -> Tensor:
    """Focal loss with γ = 5 where p < 0.2, and 3 elsewhere ("FLSD-53"); no parameter.

    References
    ----------
    Mukhoti et al. (2020), Calibrating Deep Neural Networks using Focal Loss, section 5.
    """
    log_p = functional.log_softmax(logits, dim=1)
    complement = (-torch.expm1(log_p)).clamp_min(torch.finfo(log_p.dtype).eps)
    power = torch.where(log_p.exp() < 0.2, complement**5, complement**3)
    return -(targets * power * log_p).sum(dim=1).mean()


_LOSSES: dict[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "cross_entropy": cross_entropy,
    "focal": focal,
    "brier": brier,
    "label_smoothing": label_smoothing,
    "mmce": mmce,
    "focal_sample_dependent": focal_sample_dependent,
    "mmce_weighted": mmce_weighted,
}
