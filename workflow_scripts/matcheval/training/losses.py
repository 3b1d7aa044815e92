"""Losses of logits and target distributions, averaged over the batch.

Every loss takes its targets as distributions over the classes, because mixup and label smoothing
produce soft targets. A hard label is a distribution with all its mass on one class, for which each
loss equals the one in its paper.

To add a loss, write a function of logits, targets and parameter, and add it to `_LOSSES`, its name
to `training.LOSSES`, and its parameter, if it has one, to `recipe.LOSS_PARAMETERS`.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from matcheval.training.recipe import LOSS_PARAMETERS

Loss = Callable[[Tensor, Tensor], Tensor]

# Width of the kernel in Kumar et al. (2018) and in later implementations.
_MMCE_WIDTH = 0.4
# Lower bound of the argument of sqrt, whose derivative is infinite at 0.
_MMCE_FLOOR = 1e-10


def build_loss(name: str, parameter: float | None = None) -> Loss:
    """Return the loss called `name` as a function of logits and targets, its parameter fixed."""
    function = _LOSSES[name]
    if parameter is None:
        parameter = LOSS_PARAMETERS[name].default if name in LOSS_PARAMETERS else 0.0

    def loss(logits: Tensor, targets: Tensor) -> Tensor:
        return function(logits, targets, parameter)

    return loss


def cross_entropy(logits: Tensor, targets: Tensor, parameter: float = 0.0) -> Tensor:
    """Compute the cross entropy in nats, the mean of -Σ_k t_k log p_k."""
    return -(targets * functional.log_softmax(logits, dim=1)).sum(dim=1).mean()


def focal(logits: Tensor, targets: Tensor, gamma: float) -> Tensor:
    """Compute the focal loss, the mean of -Σ_k t_k (1 - p_k)^γ log p_k."""
    log_p = functional.log_softmax(logits, dim=1)
    # expm1 gives 1 - p accurately near p = 1; the floor keeps the power's derivative finite for
    # γ < 1.
    complement = (-torch.expm1(log_p)).clamp_min(torch.finfo(log_p.dtype).eps)
    return -(targets * complement**gamma * log_p).sum(dim=1).mean()


def brier(logits: Tensor, targets: Tensor, parameter: float = 0.0) -> Tensor:
    """Compute the Brier score over all classes, the mean of Σ_k (p_k - t_k)², in [0, 2]."""
    return (functional.softmax(logits, dim=1) - targets).square().sum(dim=1).mean()


def label_smoothing(logits: Tensor, targets: Tensor, alpha: float) -> Tensor:
    """Compute the cross entropy with targets (1 - α) t + α / n_classes."""
    return cross_entropy(logits, (1 - alpha) * targets + alpha / logits.shape[1])


def mmce(logits: Tensor, targets: Tensor, weight: float) -> Tensor:
    """Compute the cross entropy plus λ times the batch's maximum mean calibration error (MMCE)."""
    squared = _squared_mmce(logits, targets)
    return cross_entropy(logits, targets) + weight * squared.clamp_min(_MMCE_FLOOR).sqrt()


def _squared_mmce(logits: Tensor, targets: Tensor) -> Tensor:
    confidence, correct = _confidence_and_correct(logits, targets)
    return _kernel_sum(correct - confidence, confidence) / len(confidence) ** 2


def mmce_mukhoti(logits: Tensor, targets: Tensor, weight: float) -> Tensor:
    """Compute the cross entropy plus λ times MMCE²; `mmce` adds the square root of it instead."""
    return cross_entropy(logits, targets) + weight * _squared_mmce(logits, targets)


def mmce_weighted(logits: Tensor, targets: Tensor, weight: float) -> Tensor:
    """Compute the cross entropy plus λ times MMCE with equal weight for right and wrong images."""
    confidence, correct = _confidence_and_correct(logits, targets)
    tiny = torch.finfo(correct.dtype).eps
    squared = _kernel_sum(
        correct * (1 - confidence) / correct.sum().clamp_min(tiny)
        - (1 - correct) * confidence / (1 - correct).sum().clamp_min(tiny),
        confidence,
    )
    return cross_entropy(logits, targets) + weight * squared.clamp_min(_MMCE_FLOOR).sqrt()


def mmce_weighted_mukhoti(logits: Tensor, targets: Tensor, weight: float) -> Tensor:
    """Compute the cross entropy plus λ times a weighted MMCE that is divided by the counts twice.

    As `mmce_weighted`, but with n² and (m - n)² in place of n and m - n, as in the code of Mukhoti
    et al. (2020), github torrvision/focal_calibration, `MMCE_weighted` in `Losses/mmce.py`, up to
    the 10⁻⁵ in its denominators; λ = 2 as in `train_scripts/cifar10.sh`. It takes means over pairs,
    and divides them by the numbers of pairs again, so that the term is smaller by orders of
    magnitude. It is 0 in a batch without correct or without incorrect predictions.
    """
    confidence, correct = _confidence_and_correct(logits, targets)
    n_correct, n_incorrect = correct.sum(), (1 - correct).sum()
    # Counts of hard labels are 0 or at least 1.
    excess = correct * (1 - confidence) / n_correct.clamp_min(1).square()
    excess = excess - (1 - correct) * confidence / n_incorrect.clamp_min(1).square()
    root = (_kernel_sum(excess, confidence) + _MMCE_FLOOR).sqrt()
    has_both = (n_correct > 0) & (n_incorrect > 0)
    return cross_entropy(logits, targets) + weight * has_both * root


def _confidence_and_correct(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Return each prediction's confidence, and the target mass on the predicted class."""
    confidence, predicted = functional.softmax(logits, dim=1).max(dim=1)
    return confidence, targets.gather(1, predicted[:, None])[:, 0]


def _kernel_sum(excess: Tensor, confidence: Tensor) -> Tensor:
    """Sum v_i v_j k(r_i, r_j) over all pairs; v is the weighted excess, r the confidence."""
    kernel = torch.exp(-(confidence[:, None] - confidence[None, :]).abs() / _MMCE_WIDTH)
    return excess @ kernel @ excess


def focal_sample_dependent(logits: Tensor, targets: Tensor, parameter: float = 0.0) -> Tensor:
    """Compute the focal loss with γ = 5 where p < 0.2 and γ = 3 elsewhere ("FLSD-53")."""
    log_p = functional.log_softmax(logits, dim=1)
    complement = (-torch.expm1(log_p)).clamp_min(torch.finfo(log_p.dtype).eps)
    power = torch.where(log_p.exp() < 0.2, complement**5, complement**3)
    return -(targets * power * log_p).sum(dim=1).mean()


_LOSSES: dict[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    function.__name__: function
    for function in (
        cross_entropy, focal, brier, label_smoothing, mmce, focal_sample_dependent, mmce_weighted,
        mmce_mukhoti, mmce_weighted_mukhoti,
    )
}  # fmt: skip
