"""The training loop: a recipe and data in, weights and a history out."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional
from tqdm import tqdm

from matcheval.datasets.folders import Dataset
from matcheval.errors import InputError
from matcheval.models.arithmetic import repeatable_arithmetic, to_input
from matcheval.models.building import build_model
from matcheval.training.augmentation import augment
from matcheval.training.losses import Loss, make_loss
from matcheval.training.recipe import Recipe
from matcheval.training.schedules import learning_rate_factor
from matcheval.training.seeds import derived_seed

MOMENTUM = 0.9
_EVALUATION_BATCH = 1024


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
        After the pass, in evaluation mode, of images as they are.
    """

    epoch: int
    learning_rate: float
    train_loss: float
    train_accuracy: float
    validation_loss: float
    validation_accuracy: float


@dataclass(frozen=True, eq=False)
class Training:
    """What training gives: the final weights and every epoch's figures."""

    state: Mapping[str, Tensor]
    history: tuple[Epoch, ...]


@dataclass
class _Tally:
    """Sums over the images seen so far."""

    n: int = 0
    loss: float = 0.0
    correct: int = 0

    def add(self, loss: float, logits: Tensor, targets: Tensor) -> None:
        self.n += len(logits)
        self.loss += loss * len(logits)
        self.correct += int((logits.argmax(dim=1) == targets.argmax(dim=1)).sum())


def train(
    name: str,
    recipe: Recipe,
    train_set: Dataset,
    validation_set: Dataset,
    *,
    n_threads: int = 1,
    progress: bool = False,
) -> Training:
    """Train a model on the CPU; the same arguments give the same weights to the bit.

    Parameters
    ----------
    name : str
        The model's name; with `recipe.seed` it decides everything random.
    recipe : Recipe
        What to do.
    train_set, validation_set : Dataset
        What to learn from, and to report on; nothing is chosen by the latter.
    n_threads : int
        CPU threads; another number may change the last bits.
    progress : bool
        Whether to draw a progress bar.

    Returns
    -------
    Training
        Weights after the last epoch, and the history.

    Raises
    ------
    InputError
        If the sets do not go together, or the loss stops being finite.
    """
    _check_sets(name, train_set, validation_set)
    history = []
    with repeatable_arithmetic(n_threads):
        run = _Run(name, recipe, train_set)
        for epoch in tqdm(range(recipe.epochs), desc=name, unit="epoch", disable=not progress):
            rate, trained = run.one_pass(epoch)
            watched = _evaluate(run.model, run.loss, validation_set)
            # Also catches weights that the pass's last step spoilt.
            _check_finite(watched, name, epoch, recipe)
            history.append(_figures(epoch + 1, rate, trained, watched))
    return Training(run.model.state_dict(), tuple(history))


class _Run:
    """A model in training, with all that changes as it goes."""

    def __init__(self, name: str, recipe: Recipe, train_set: Dataset) -> None:
        self.name, self.recipe, self.train_set = name, recipe, train_set
        self.model = _initial_model(name, recipe, train_set)
        self.loss = make_loss(recipe.loss, recipe.loss_parameter)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(),
            lr=recipe.learning_rate,
            momentum=MOMENTUM,
            nesterov=True,
            weight_decay=recipe.weight_decay,
        )
        self.order = np.random.default_rng(derived_seed(name, recipe.seed, "order"))
        augmentation_seed = derived_seed(name, recipe.seed, "augmentation")
        self.generator = torch.Generator().manual_seed(augmentation_seed)
        self.rows = _subset(len(train_set), recipe.train_fraction, self.order)

    def one_pass(self, epoch: int) -> tuple[float, _Tally]:
        """Pass over the training data once; give the last learning rate and the tally."""
        recipe = self.recipe
        n_batches = math.ceil(len(self.rows) / recipe.batch_size)
        steps = recipe.epochs * n_batches
        tally, rate = _Tally(), 0.0
        self.model.train()
        # Nearly equal batches: a last one of a single image would upset batch norm.
        for i, rows in enumerate(np.array_split(self.order.permutation(self.rows), n_batches)):
            factor = learning_rate_factor(recipe.schedule, epoch * n_batches + i, steps)
            rate = recipe.learning_rate * factor
            images, targets = _batch(self.train_set, np.sort(rows))
            images, targets = augment(recipe.augmentation, images, targets, self.generator)
            logits = self.model(images)
            loss = self.loss(logits, targets)
            self.optimizer.param_groups[0]["lr"] = rate
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            tally.add(loss.item(), logits.detach(), targets)
            _check_finite(tally, self.name, epoch, recipe)
        return rate, tally


def _evaluate(model: nn.Module, loss: Loss, dataset: Dataset) -> _Tally:
    model.eval()
    tally = _Tally()
    with torch.inference_mode():
        for start in range(0, len(dataset), _EVALUATION_BATCH):
            stop = min(start + _EVALUATION_BATCH, len(dataset))
            images, targets = _batch(dataset, np.arange(start, stop))
            logits = model(images)
            tally.add(loss(logits, targets).item(), logits, targets)
    return tally


def _initial_model(name: str, recipe: Recipe, train_set: Dataset) -> nn.Module:
    """Make the model; torch draws initial weights from its global generator only."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed(name, recipe.seed, "weights"))
        return build_model(
            recipe.architecture,
            width=recipe.width,
            depth=recipe.depth,
            input_shape=train_set.image_shape,
            n_classes=train_set.n_classes,
        )


def _batch(dataset: Dataset, rows: npt.NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    """Images as float32 NCHW, and one-hot targets (n, n_classes)."""
    labels = torch.from_numpy(dataset.labels[rows].astype(np.int64))
    targets = functional.one_hot(labels, dataset.n_classes).float()
    return to_input(dataset.pixels[rows], dataset.max_value), targets


def _subset(n: int, fraction: float, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Rows to train on: a random part of them, the nearest number and at least one."""
    return np.sort(rng.permutation(n)[: max(1, round(fraction * n))])


def _check_sets(name: str, train_set: Dataset, validation_set: Dataset) -> None:
    for what in ("image_shape", "classes", "max_value"):
        ours, theirs = getattr(train_set, what), getattr(validation_set, what)
        if ours != theirs:
            raise InputError(
                f"is {theirs} in {validation_set.name}, but {ours} in {train_set.name}",
                file=name,
                field=what,
                remedy="Train and validate on sets of one kind",
            )


def _figures(epoch: int, rate: float, trained: _Tally, watched: _Tally) -> Epoch:
    return Epoch(
        epoch=epoch,
        learning_rate=rate,
        train_loss=trained.loss / trained.n,
        train_accuracy=trained.correct / trained.n,
        validation_loss=watched.loss / watched.n,
        validation_accuracy=watched.correct / watched.n,
    )


def _check_finite(tally: _Tally, name: str, epoch: int, recipe: Recipe) -> None:
    if not math.isfinite(tally.loss):
        raise InputError(
            f"training diverged in epoch {epoch + 1}: the loss is not finite",
            file=name,
            field="learning_rate",
            remedy=f"Give less than {recipe.learning_rate:g}",
        )
