"""Loss and accuracy of an epoch, accumulated on the device while the epoch runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from matcheval.errors import InputError


@dataclass(frozen=True)
class Epoch:
    """Metrics of one pass over the training data."""

    epoch: int
    learning_rate: float
    train_loss: float
    train_accuracy: float
    validation_loss: float
    validation_accuracy: float


def kept_epoch(history: Sequence[Epoch], keep: str) -> int:
    """Return the number of the epoch whose weights are kept."""
    if keep == "last":
        return history[-1].epoch
    return max(history, key=lambda each: (each.validation_accuracy, -each.epoch)).epoch


class RunningMetrics:
    """Mean loss and accuracy of the images so far; reading them synchronises with the device."""

    def __init__(self, device: torch.device) -> None:
        # MPS does not support float64.
        wide = torch.float32 if device.type == "mps" else torch.float64
        self.n = 0
        self._finite_steps = torch.zeros((), dtype=torch.int64, device=device)
        self._loss = torch.zeros((), dtype=wide, device=device)
        self._correct = torch.zeros((), dtype=torch.int64, device=device)

    def add(self, loss: Tensor, logits: Tensor, targets: Tensor) -> None:
        """Add a batch."""
        self.n += len(logits)
        self._loss += loss.detach().to(self._loss.dtype) * len(logits)
        self._finite_steps += self._loss.isfinite()
        self._correct += (logits.detach().argmax(dim=1) == targets.argmax(dim=1)).sum()

    @property
    def loss(self) -> float:
        """Mean loss."""
        return self._loss.item() / self.n

    @property
    def accuracy(self) -> float:
        """Fraction of the images that are classified correctly."""
        return self._correct.item() / self.n

    @property
    def is_finite(self) -> bool:
        """Whether the loss of every batch was finite."""
        return math.isfinite(self._loss.item())

    @property
    def finite_steps(self) -> int:
        """Number of batches before the first of which the loss is not finite."""
        return int(self._finite_steps.item())


def divergence_error(name: str, where: str, learning_rate: float, saved: str) -> InputError:
    """Create the error for a training run that diverged."""
    return InputError(
        f"training diverged in {where}: the loss is not finite; {saved}",
        file=name,
        field="learning_rate",
        remedy=f"Give less than {learning_rate:g}, or set warmup_epochs or clip_norm",
    )
