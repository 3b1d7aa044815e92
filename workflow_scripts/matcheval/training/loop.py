"""The training loop: turns a recipe and data into weights and a history."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from tqdm import tqdm

from matcheval.datasets.dataset import Dataset
from matcheval.errors import InputError
from matcheval.models.architectures.parts import Noisy, scale_dropout
from matcheval.models.arithmetic import normalize
from matcheval.models.building import build_model
from matcheval.models.devices import full_memory
from matcheval.models.package_loading import start_from_package
from matcheval.training.algorithm import Minibatch, Setup, build_algorithm
from matcheval.training.augmentation import augment
from matcheval.training.data import ResidentSet, batches, check_sets, normalization_of, subset
from matcheval.training.engine import Engine
from matcheval.training.recipe import Recipe
from matcheval.training.resume import load_resume_state, save_resume_state
from matcheval.training.running_metrics import (
    Epoch,
    RunningMetrics,
    divergence_error,
    kept_epoch,
)
from matcheval.training.schedules import learning_rate_factor
from matcheval.training.seeds import derived_seed
from matcheval.training.sources import check_sources


class StoppedError(InputError):
    """A training that was told to stop, and has saved its state."""


_EVALUATION_BATCH = 1024
_CHECK_STEPS = 50  # between checks of the loss, each of which waits for the device
_STATE_FORMAT = 3  # of the resume state, as part of its identity


@dataclass(frozen=True, eq=False)
class Training:
    """The result of a training run.

    Attributes
    ----------
    state : mapping of str to tensor
        The final weights, on the CPU.
    history : tuple of Epoch
        Metrics of every epoch.
    mean, std : tuple of float
        Mean and standard deviation of each channel, for pixels in [0, 1], by which the model's
        input is normalised.
    """

    state: Mapping[str, Tensor]
    history: tuple[Epoch, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]


def train(
    name: str,
    recipe: Recipe,
    train_sets: Sequence[Dataset],
    validation: Dataset | Sequence[Dataset],
    *,
    engine: Engine | None = None,
    resume_file: Path | None = None,
    identity: Mapping[str, Any] | None = None,
    on_epoch: Callable[[Sequence[Epoch]], None] | None = None,
    is_to_stop: Callable[[], bool] = lambda: False,
    progress: bool = False,
) -> Training:
    """Train a model.

    On the CPU, the same arguments give bit-identical weights.

    Parameters
    ----------
    name : str
        The model's name; together with `recipe.seed` it seeds all randomness.
    recipe : Recipe
        How the model is built and trained.
    train_sets : sequence of Dataset
        The training sets (domains). Every step takes a batch of each. An epoch has as many steps as
        one pass over the largest set; the smaller ones are passed through again within it.
    validation : Dataset or sequence of Dataset
        Only reported on, unless the recipe keeps the best weights; of several, the mean counts.
    engine : Engine, optional
        Device and other machine settings; by default one thread of the CPU.
    resume_file : Path, optional
        Where the resume state of an unfinished training is saved, and from where it is resumed.
        The caller removes the file once it is no longer needed.
    identity : mapping of str to object, optional
        Further entries of the identity that a resume state must match, such as data and versions.
    on_epoch : callable, optional
        Called with the history after each epoch.
    is_to_stop : callable
        Asked after each epoch but the last whether to save the state and stop.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    Training
        The weights that the recipe keeps, and the history.

    Raises
    ------
    StoppedError
        If it was to stop: the state is saved, and the same arguments continue from it.
    InputError
        If the sets do not match each other or the algorithm, the device is missing or runs out of
        memory, or the loss is no longer finite: the message names the step and the state that was
        saved last.
    """
    validation_sets = [validation] if isinstance(validation, Dataset) else list(validation)
    check_sets(name, train_sets, validation_sets)
    check_sources(name, recipe, train_sets)
    engine = engine or Engine()
    device = engine.resolve()
    full_identity = {
        "format": _STATE_FORMAT, "model": name, **recipe.to_record(), **engine.identity(device),
        **(identity or {}),
    }  # fmt: skip
    size = recipe.batch_size * len(train_sets)
    memory = full_memory(
        f"{device.type} ran out of memory at batches of {size} images",
        file=name,
        field="batch_size",
        remedy="Use a smaller batch_size (and learning_rate), precision bf16, or a larger GPU",
    )
    with engine.arithmetic(device), memory:
        run = _Run(name, recipe, train_sets, engine, device)
        resident = [
            ResidentSet.of(data, device, channels_last=engine.channels_last)
            for data in validation_sets
        ]
        if resume_file and (state := load_resume_state(resume_file, full_identity)):
            run.restore(state)
            run.note_saved(resume_file)
        saved = time.monotonic()
        epochs = range(len(run.history), recipe.epochs)
        bar = tqdm(
            epochs, name, initial=epochs.start, total=recipe.epochs, unit="epoch",
            disable=not progress,
        )  # fmt: skip
        for epoch in bar:
            run.one_pass(epoch, resident)
            bar.set_postfix(loss=run.history[-1].train_loss)
            if on_epoch:
                on_epoch(run.history)
            stops = resume_file is not None and epoch + 1 < recipe.epochs and is_to_stop()
            if resume_file and (stops or time.monotonic() - saved >= 60 * engine.save_minutes):
                save_resume_state(resume_file, full_identity, run.state())
                run.note_saved(resume_file)
                saved = time.monotonic()
            if stops:
                raise StoppedError(f"stopped as its time is nearly over; {run.saved}", file=name)
        return Training(run.weights(), tuple(run.history), run.mean, run.std)


class _Run:
    """A model in training, with all state that changes during the run."""

    def __init__(
        self,
        name: str,
        recipe: Recipe,
        train_sets: Sequence[Dataset],
        engine: Engine,
        device: torch.device,
    ) -> None:
        self.name, self.recipe, self.engine, self.device = name, recipe, engine, device
        self.mean, self.std = normalization_of(train_sets, recipe.normalization)
        network = initial_model(name, recipe, train_sets[0]).to(device)
        if engine.channels_last:
            network = network.to(memory_format=torch.channels_last)
        self.order = np.random.default_rng(derived_seed(name, recipe.seed, "order"))
        self.generators = {
            purpose: torch.Generator().manual_seed(derived_seed(name, recipe.seed, purpose))
            for purpose in ("augmentation", "noise", "algorithm")
        }
        setup = Setup(len(train_sets), self.generators["algorithm"], compiled=engine.compile)
        with seeded(name, recipe, "algorithm"):
            self.algorithm = build_algorithm(network, recipe, setup)
        for module in network.modules():
            if isinstance(module, Noisy):
                module.noise = self.generators["noise"]
        self.domains = [
            (
                ResidentSet.of(data, device, channels_last=engine.channels_last),
                subset(len(data), recipe.train_fraction, self.order),
            )
            for data in train_sets
        ]
        self.history: list[Epoch] = []
        self.best: dict[str, Tensor] = {}
        self.saved = "no state was saved"

    def one_pass(self, epoch: int, validation: Sequence[ResidentSet]) -> None:
        """Train for one epoch, validate, and append to the history.

        Parameters
        ----------
        epoch : int
            Index of the epoch, from 0.
        validation : sequence of ResidentSet
            The validation sets.
        """
        recipe = self.recipe
        n_batches = recipe.epoch_steps or math.ceil(
            max(len(rows) for _, rows in self.domains) / recipe.batch_size
        )
        metrics, factor = RunningMetrics(self.device), 0.0
        self.algorithm.train()
        drawn = [batches(r, n_batches, recipe.batch_size, self.order) for _, r in self.domains]
        for i, rows in enumerate(zip(*drawn, strict=True)):
            factor = learning_rate_factor(
                recipe.schedule,
                epoch * n_batches + i,
                recipe.epochs * n_batches,
                round(recipe.warmup_epochs * n_batches),
            )
            minibatches = [
                self._minibatch(data, own)
                for (data, _), own in zip(self.domains, rows, strict=True)
            ]
            targets = torch.cat([batch.targets for batch in minibatches])
            metrics.add(*self.algorithm.update(minibatches, factor), targets)
            if (i % _CHECK_STEPS == 0 or i == n_batches - 1) and not metrics.is_finite:
                raise self._divergence(epoch, f"step {metrics.finite_steps + 1} of {n_batches}")
        rate = recipe.learning_rate * factor
        last = epoch + 1 == recipe.epochs
        keeps_best = recipe.keep == "best"
        due = last or keeps_best or (epoch + 1) % self.engine.validate_every == 0
        validated = self._validate_on(validation, epoch) if due else (math.nan, math.nan)
        self.history.append(Epoch(epoch + 1, rate, metrics.loss, metrics.accuracy, *validated))
        if keeps_best and kept_epoch(self.history, recipe.keep) == epoch + 1:
            self.best = {name: tensor.clone() for name, tensor in self._weights_now().items()}

    def _minibatch(self, data: ResidentSet, rows: npt.NDArray[np.int64]) -> Minibatch:
        images, targets = augment(
            self.recipe.augmentation,
            *data.batch(torch.from_numpy(rows).to(self.device)),
            self.generators["augmentation"],
            self.recipe.augmentation_parameter,
        )
        return Minibatch(normalize(images, self.mean, self.std), targets)

    def _validate_on(self, sets: Sequence[ResidentSet], epoch: int) -> tuple[float, float]:
        """Return the means over the validation sets of loss and accuracy."""
        each = [self._validate(one, epoch) for one in sets]
        loss, accuracy = (math.fsum(values) / len(each) for values in zip(*each, strict=True))
        return loss, accuracy

    def _validate(self, validation: ResidentSet, epoch: int) -> tuple[float, float]:
        """Return mean loss and accuracy; also detects divergence in the last step of the epoch."""
        metrics = RunningMetrics(self.device)
        self.algorithm.eval()
        with torch.inference_mode():
            for start in range(0, len(validation), _EVALUATION_BATCH):
                images, targets = validation.batch(slice(start, start + _EVALUATION_BATCH))
                logits = self.algorithm.predict(normalize(images, self.mean, self.std))
                metrics.add(self.algorithm.loss(logits, targets), logits, targets)
        if not metrics.is_finite:
            raise self._divergence(epoch, "validation")
        return metrics.loss, metrics.accuracy

    def _divergence(self, epoch: int, where: str) -> InputError:
        place, rate = f"epoch {epoch + 1}, {where}", self.recipe.learning_rate
        return divergence_error(self.name, place, rate, self.saved)

    def note_saved(self, resume_file: Path) -> None:
        """Remember which state was saved last, for the message if the training diverges.

        Parameters
        ----------
        resume_file : Path
            Where the present state has been saved.
        """
        self.saved = f"the state after epoch {len(self.history)} is in {resume_file}"

    def weights(self) -> dict[str, Tensor]:
        """Return the weights to be saved, on the CPU."""
        return self.best or self._weights_now()

    def _weights_now(self) -> dict[str, Tensor]:
        state = self.algorithm.result.state_dict()
        return {name: tensor.detach().cpu().contiguous() for name, tensor in state.items()}

    def state(self) -> dict[str, Any]:
        """Return everything that the rest of the training depends on, for a resume state."""
        return {
            "algorithm": self.algorithm.state_dict(),
            "order": self.order.bit_generator.state,
            "generators": {name: g.get_state() for name, g in self.generators.items()},
            "history": [asdict(epoch) for epoch in self.history],
            "best": self.best,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that `state` returned.

        Parameters
        ----------
        state : mapping of str to object
            The saved state, with tensors on the CPU.
        """
        self.algorithm.load_state_dict(state["algorithm"])
        self.order.bit_generator.state = state["order"]
        for name, generator in self.generators.items():
            generator.set_state(state["generators"][name])
        self.history = [Epoch(**values) for values in state["history"]]
        self.best = state["best"]


def initial_model(name: str, recipe: Recipe, train_set: Dataset) -> nn.Module:
    """Build a model with its initial weights.

    Torch draws initial weights only from its global generator.

    Parameters
    ----------
    name : str
        The model's name; together with `recipe.seed` it seeds the weights.
    recipe : Recipe
        Architecture and size.
    train_set : Dataset
        A training set, for image shape and number of classes.

    Returns
    -------
    torch.nn.Module
        The model, on the CPU.

    Raises
    ------
    InputError
        If the architecture does not accept the images (see `build_model`), or pretrained weights
        are not installed or do not fit.
    """
    with seeded(name, recipe, "weights"):
        model = build_model(
            recipe.architecture,
            width=recipe.width,
            depth=recipe.depth,
            groups=recipe.groups,
            input_shape=train_set.image_shape,
            n_classes=train_set.n_classes,
        )
    scale_dropout(model, recipe.dropout_factor)
    if recipe.pretrained:
        start_from_package(model, recipe.pretrained, name)
    return model


@contextmanager
def seeded(name: str, recipe: Recipe, purpose: str) -> Iterator[None]:
    """Seed torch's global generator in a block, for initial weights, and restore it afterwards.

    Parameters
    ----------
    name : str
        The model's name.
    recipe : Recipe
        Its seed is used.
    purpose : str
        What is drawn.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed(name, recipe.seed, purpose))
        yield
