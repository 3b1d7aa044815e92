"""Loss and accuracy of an epoch, accumulated on the device while the epoch runs."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from matcheval.errors import InputError


@dataclass(frozen=True)
class Epoch:
    """Metrics of one pass over the training data.

    Attributes
    ----------
    epoch : int
        Number of the pass, from 1.
    learning_rate : float
        Learning rate of the pass's last step.
    train_loss, train_accuracy : float
        Means over the pass, computed on augmented images while the weights change; with soft
        targets the correct class is the one with the largest target.
    validation_loss, validation_accuracy : float
        After the pass, in evaluation mode, on images without augmentation; NaN if the model was
        not validated after this pass.
    """

    epoch: int
    learning_rate: float
    train_loss: float
    train_accuracy: float
    validation_loss: float
    validation_accuracy: float


class RunningMetrics:
    """Mean loss and accuracy of the images so far; reading them synchronises with the device.

    Parameters
    ----------
    device : torch.device
        Where the sums are kept.
    """

    def __init__(self, device: torch.device) -> None:
        # MPS does not support float64.
        wide = torch.float32 if device.type == "mps" else torch.float64
        self.n = 0
        self._loss = torch.zeros((), dtype=wide, device=device)
        self._correct = torch.zeros((), dtype=torch.int64, device=device)

    def add(self, loss: Tensor, logits: Tensor, targets: Tensor) -> None:
        """Add a batch.

        Parameters
        ----------
        loss : float tensor, shape ()
            Mean loss of the batch.
        logits, targets : float tensors, shape (n, n_classes)
            Logits, and distributions over the classes.
        """
        self.n += len(logits)
        self._loss += loss.detach().to(self._loss.dtype) * len(logits)
        self._correct += (logits.detach().argmax(dim=1) == targets.argmax(dim=1)).sum()

    @property
    def loss(self) -> float:
        """Mean loss."""
        return self._loss.item() / self.n

    @property
    def accuracy(self) -> float:
        """Fraction of the images that are classified correctly."""
        return self._correct.item() / self.n

    def check_finite(self, name: str, epoch: int, learning_rate: float) -> None:
        """Stop a training run that diverged.

        Parameters
        ----------
        name : str
            The model's name.
        epoch : int
            Number of the epoch, from 1.
        learning_rate : float
            The recipe's learning rate.

        Raises
        ------
        InputError
            If the mean loss is not finite; the message names the model, the epoch and remedies.
        """
        if not math.isfinite(self.loss):
            raise InputError(
                f"training diverged in epoch {epoch}: the loss is not finite",
                file=name,
                field="learning_rate",
                remedy=f"Give less than {learning_rate:g}, or set warmup_epochs or clip_norm",
            )
