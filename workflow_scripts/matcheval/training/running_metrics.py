"""Figures of an epoch, summed on the device while it runs."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from matcheval.errors import InputError


@dataclass(frozen=True)
class Epoch:
    """One pass over the training data.

    Attributes
    ----------
    epoch : int
        From 1.
    learning_rate : float
        Of the pass's last step.
    train_loss, train_accuracy : float
        Means over the pass, of augmented images and changing weights; with soft targets the
        right class is the one of most mass.
    validation_loss, validation_accuracy : float
        After the pass, in evaluation mode, of images as they are; NaN where the pass was not
        validated.
    """

    epoch: int
    learning_rate: float
    train_loss: float
    train_accuracy: float
    validation_loss: float
    validation_accuracy: float


class Tally:
    """Sums over the images seen so far; reading them waits for the device."""

    def __init__(self, device: torch.device) -> None:
        # MPS knows no float64.
        wide = torch.float32 if device.type == "mps" else torch.float64
        self.n = 0
        self._loss = torch.zeros((), dtype=wide, device=device)
        self._correct = torch.zeros((), dtype=torch.int64, device=device)

    def add(self, loss: Tensor, logits: Tensor, targets: Tensor) -> None:
        """Add a batch: its mean loss, logits and targets."""
        self.n += len(logits)
        self._loss += loss.detach().to(self._loss.dtype) * len(logits)
        self._correct += (logits.detach().argmax(dim=1) == targets.argmax(dim=1)).sum()

    @property
    def loss(self) -> float:
        """Mean loss."""
        return self._loss.item() / self.n

    @property
    def accuracy(self) -> float:
        """Part of the images whose class was right."""
        return self._correct.item() / self.n

    def check_finite(self, name: str, epoch: int, learning_rate: float) -> None:
        """Stop a training that diverged.

        Raises
        ------
        InputError
            Naming model, epoch and remedies.
        """
        if not math.isfinite(self.loss):
            raise InputError(
                f"training diverged in epoch {epoch}: the loss is not finite",
                file=name,
                field="learning_rate",
                remedy=f"Give less than {learning_rate:g}, or warmup_epochs, or clip_norm",
            )
