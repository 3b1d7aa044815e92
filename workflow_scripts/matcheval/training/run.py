"""A model in training, with everything that changes in the course of it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from matcheval.datasets.dataset import Dataset
from matcheval.errors import InputError
from matcheval.models.architectures.parts import Noisy, scale_dropout
from matcheval.models.devices import normalize
from matcheval.models.loading import start_from_weights
from matcheval.models.networks import build_model
from matcheval.training import derived_seed
from matcheval.training.algorithm import Minibatch, Setup, learning_rate_factor
from matcheval.training.algorithms import IMPLEMENTATIONS
from matcheval.training.augmentation import augment
from matcheval.training.data import ResidentSet, draw_batches, draw_subset, normalization_constants
from matcheval.training.recipe import Recipe
from matcheval.training.settings import Engine


def training_seed(name: str, recipe: Recipe, purpose: str) -> int:
    """Derive the seed of one kind of random numbers of a training, such as `order`."""
    return derived_seed(recipe.seeded_by or name, recipe.seed, purpose)


def initial_model(name: str, recipe: Recipe, train_set: Dataset) -> nn.Module:
    """Build a model with its initial weights, random or pretrained."""
    with seeded_torch(name, recipe, "weights"):
        model = build_model(
            recipe.architecture, width=recipe.width, depth=recipe.depth, groups=recipe.groups,
            input_shape=train_set.image_shape, n_classes=train_set.n_classes,
        )  # fmt: skip
    scale_dropout(model, recipe.dropout_factor)
    if recipe.pretrained:
        start_from_weights(model, recipe.pretrained, name)
    return model


@contextmanager
def seeded_torch(name: str, recipe: Recipe, purpose: str) -> Iterator[None]:
    """Seed torch's global generator within a `with` block, and restore its state afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(training_seed(name, recipe, purpose))
        yield


@dataclass(frozen=True)
class Epoch:
    """Learning rate, losses and accuracies of one pass over the training data."""

    epoch: int
    learning_rate: float
    train_loss: float
    train_accuracy: float
    validation_loss: float
    validation_accuracy: float


def kept_epoch(history: Sequence[Epoch], keep: str) -> int:
    """Return the number of the epoch to keep: the last, or that of best validation accuracy."""
    if keep == "last":
        return history[-1].epoch
    return max(history, key=lambda epoch: (epoch.validation_accuracy, -epoch.epoch)).epoch


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
        """Add the loss and accuracy of a batch."""
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
    def diverged(self) -> int | None:
        """The number, from 1, of the first batch whose loss is not finite, if any."""
        return None if self._loss.isfinite() else int(self._finite_steps.item()) + 1


_EVALUATION_BATCH = 1024
_CHECK_STEPS = 50  # between checks of the loss, each of which waits for the device


class Run:
    """A model in training, with all state that changes during the run."""

    def __init__(
        self, name: str, recipe: Recipe, train_sets: Sequence[Dataset], engine: Engine,
        device: torch.device,
    ) -> None:  # fmt: skip
        self.name, self.recipe, self.engine, self.device = name, recipe, engine, device
        self.mean, self.std = normalization_constants(train_sets, recipe.normalization)
        network = initial_model(name, recipe, train_sets[0]).to(device)
        if engine.channels_last:
            network = network.to(memory_format=torch.channels_last)
        self.order = np.random.default_rng(training_seed(name, recipe, "order"))
        self.generators = {
            purpose: torch.Generator().manual_seed(training_seed(name, recipe, purpose))
            for purpose in ("augmentation", "noise", "algorithm")
        }
        setup = Setup(len(train_sets), self.generators["algorithm"], compiled=engine.compile)
        with seeded_torch(name, recipe, "algorithm"):
            self.algorithm = IMPLEMENTATIONS[recipe.algorithm](network, recipe, setup)
        for module in network.modules():
            if isinstance(module, Noisy):
                module.noise = self.generators["noise"]
        self.domains = [
            (
                ResidentSet(data, device, engine.channels_last),
                draw_subset(len(data), recipe.train_fraction, self.order),
            )
            for data in train_sets
        ]
        self.history: list[Epoch] = []
        self.best: dict[str, Tensor] = {}
        self.saved = "no state was saved"

    def train_epoch(self, epoch: int, validation: Sequence[ResidentSet]) -> None:
        """Train for one epoch, validate if due, and append the metrics to the history."""
        recipe = self.recipe
        n_batches = recipe.epoch_steps or math.ceil(
            max(len(rows) for _, rows in self.domains) / recipe.batch_size
        )
        metrics, factor = RunningMetrics(self.device), 0.0
        self.algorithm.train()
        drawn = [draw_batches(r, n_batches, recipe.batch_size, self.order) for _, r in self.domains]
        for i, rows in enumerate(zip(*drawn, strict=True)):
            factor = learning_rate_factor(
                recipe.schedule,
                epoch * n_batches + i,
                recipe.epochs * n_batches,
                round(recipe.warmup_epochs * n_batches),
            )
            minibatches = [
                self._draw_minibatch(data, own_rows)
                for (data, _), own_rows in zip(self.domains, rows, strict=True)
            ]
            targets = torch.cat([batch.targets for batch in minibatches])
            metrics.add(*self.algorithm.update(minibatches, factor), targets)
            if (i % _CHECK_STEPS == 0 or i == n_batches - 1) and (step := metrics.diverged):
                raise self._divergence_error(epoch, f"step {step} of {n_batches}")
        rate = recipe.learning_rate * factor
        last = epoch + 1 == recipe.epochs
        keeps_best = recipe.keep == "best"
        due = last or keeps_best or (epoch + 1) % self.engine.validate_every == 0
        loss, accuracy = math.nan, math.nan
        if due:
            metrics_of = zip(*(self._validate(data, epoch) for data in validation), strict=True)
            loss, accuracy = (math.fsum(values) / len(validation) for values in metrics_of)
        self.history.append(Epoch(epoch + 1, rate, metrics.loss, metrics.accuracy, loss, accuracy))
        if keeps_best and kept_epoch(self.history, recipe.keep) == epoch + 1:
            self.best = {name: tensor.clone() for name, tensor in self._current_weights().items()}

    def _draw_minibatch(self, data: ResidentSet, rows: npt.NDArray[np.int64]) -> Minibatch:
        """Augment and normalise the images of some rows of a training set."""
        images, targets = augment(
            self.recipe.augmentation,
            *data.batch(torch.from_numpy(rows).to(self.device)),
            self.generators["augmentation"],
            self.recipe.augmentation_parameter,
        )
        return Minibatch(normalize(images, self.mean, self.std), targets)

    def _validate(self, validation: ResidentSet, epoch: int) -> tuple[float, float]:
        """Return mean loss and accuracy on a validation set; raise an error on divergence."""
        metrics = RunningMetrics(self.device)
        self.algorithm.eval()
        with torch.inference_mode():
            for start in range(0, len(validation), _EVALUATION_BATCH):
                images, targets = validation.batch(slice(start, start + _EVALUATION_BATCH))
                logits = self.algorithm.predict(normalize(images, self.mean, self.std))
                metrics.add(self.algorithm.loss(logits, targets), logits, targets)
        if metrics.diverged:
            raise self._divergence_error(epoch, "validation")
        return metrics.loss, metrics.accuracy

    def _divergence_error(self, epoch: int, where: str) -> InputError:
        place = f"training diverged in epoch {epoch + 1}, {where}"
        problem = f"{place}: the loss is not finite; {self.saved}"
        remedy = f"Give less than {self.recipe.learning_rate:g}, or set warmup_epochs or clip_norm"
        return InputError(problem, file=self.name, field="learning_rate", remedy=remedy)

    def note_saved(self, resume_file: Path) -> None:
        """Remember which state was saved last, for the message if the training diverges."""
        self.saved = f"the state after epoch {len(self.history)} is in {resume_file}"

    @property
    def state(self) -> dict[str, Tensor]:
        """The weights to save, on the CPU: the best ones if these are kept, else the current."""
        return self.best or self._current_weights()

    def _current_weights(self) -> dict[str, Tensor]:
        state = self.algorithm.result.state_dict()
        return {name: tensor.detach().cpu().contiguous() for name, tensor in state.items()}

    def resume_state(self) -> dict[str, Any]:
        """Return everything that the rest of the training depends on, to be saved."""
        return {
            "algorithm": self.algorithm.state_dict(),
            "order": self.order.bit_generator.state,
            "generators": {name: g.get_state() for name, g in self.generators.items()},
            "history": [asdict(epoch) for epoch in self.history],
            "best": self.best,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that `resume_state` returned."""
        self.algorithm.load_state_dict(state["algorithm"])
        self.order.bit_generator.state = state["order"]
        for name, generator in self.generators.items():
            generator.set_state(state["generators"][name])
        self.history = [Epoch(**values) for values in state["history"]]
        self.best = state["best"]
