"""The training loop: a recipe and data in, weights and a history out."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from matcheval.datasets.folders import Dataset
from matcheval.models.architectures.shake_shake import ShakeBlock
from matcheval.models.arithmetic import normalize
from matcheval.models.building import build_model
from matcheval.models.devices import full_memory
from matcheval.training.augmentation import augment
from matcheval.training.data import ResidentSet, check_sets, normalization_of, subset
from matcheval.training.engine import Engine
from matcheval.training.optimisation import Stepper
from matcheval.training.recipe import Recipe
from matcheval.training.resume import load_partial, save_partial
from matcheval.training.running_metrics import Epoch, Tally
from matcheval.training.schedules import learning_rate_factor
from matcheval.training.seeds import derived_seed

_EVALUATION_BATCH = 1024
_CHECK_STEPS = 50  # between looks at the loss, each of which waits for the device


@dataclass(frozen=True, eq=False)
class Training:
    """What training gives.

    Attributes
    ----------
    state : mapping of str to tensor
        The final weights, on the CPU.
    history : tuple of Epoch
        Every epoch's figures.
    mean, std : tuple of float
        By which the model's input is normalised, per channel.
    """

    state: Mapping[str, Tensor]
    history: tuple[Epoch, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]


def train(
    name: str,
    recipe: Recipe,
    train_set: Dataset,
    validation_set: Dataset,
    *,
    engine: Engine | None = None,
    partial: Path | None = None,
    identity: Mapping[str, Any] | None = None,
    on_epoch: Callable[[Sequence[Epoch]], None] | None = None,
    progress: bool = False,
) -> Training:
    """Train a model; the same arguments give the same weights, on the CPU to the bit.

    Parameters
    ----------
    name : str
        The model's name; with `recipe.seed` it decides everything random.
    recipe : Recipe
        What to do.
    train_set, validation_set : Dataset
        What to learn from, and to report on; nothing is chosen by the latter.
    engine : Engine, optional
        How to run it; by default on one thread of the CPU.
    partial : Path, optional
        Where an unfinished training is kept and taken up from; removing it is the caller's.
    identity : mapping, optional
        What else the partial training must agree in: data, versions.
    on_epoch : callable, optional
        Called with the history after each epoch.
    progress : bool
        Whether to draw a progress bar.

    Returns
    -------
    Training
        Weights after the last epoch, and the history.

    Raises
    ------
    InputError
        If the sets do not go together, the device is absent or out of memory, or the loss stops
        being finite.
    """
    check_sets(name, train_set, validation_set)
    engine = engine or Engine()
    device = engine.resolve()
    whole = {"model": name, **asdict(recipe), **engine.identity(device), **(identity or {})}
    memory = full_memory(
        f"{device.type} ran out of memory at batches of {recipe.batch_size} images",
        file=name,
        field="batch_size",
        remedy="Give a smaller batch_size (and learning_rate), precision bf16, or a larger GPU",
    )
    with engine.arithmetic(device), memory:
        run = _Run(name, recipe, train_set, engine, device)
        watched = ResidentSet.of(validation_set, device, channels_last=engine.channels_last)
        if partial and (state := load_partial(partial, whole, device)):
            run.restore(state)
        saved = time.monotonic()
        epochs = range(len(run.history), recipe.epochs)
        bar = tqdm(
            epochs, name, initial=epochs.start, total=recipe.epochs, unit="epoch",
            disable=not progress,
        )  # fmt: skip
        for epoch in bar:
            run.one_pass(epoch, watched)
            bar.set_postfix(loss=run.history[-1].train_loss)
            if on_epoch:
                on_epoch(run.history)
            if partial and time.monotonic() - saved >= 60 * engine.save_minutes:
                save_partial(partial, whole, run.state())
                saved = time.monotonic()
        weights = {
            k: v.detach().cpu().contiguous() for k, v in run.stepper.result.state_dict().items()
        }
    return Training(weights, tuple(run.history), run.mean, run.std)


class _Run:
    """A model in training, with all that changes as it goes."""

    def __init__(
        self, name: str, recipe: Recipe, train_set: Dataset, engine: Engine, device: torch.device
    ) -> None:
        self.name, self.recipe, self.engine, self.device = name, recipe, engine, device
        self.mean, self.std = normalization_of(train_set, recipe.normalization)
        self.data = ResidentSet.of(train_set, device, channels_last=engine.channels_last)
        model = initial_model(name, recipe, train_set).to(device)
        if engine.channels_last:
            model = model.to(memory_format=torch.channels_last)
        self.stepper = Stepper(model, recipe, compiled=engine.compile)
        self.order = np.random.default_rng(derived_seed(name, recipe.seed, "order"))
        self.generators = {
            purpose: torch.Generator().manual_seed(derived_seed(name, recipe.seed, purpose))
            for purpose in ("augmentation", "noise")
        }
        for module in model.modules():
            if isinstance(module, ShakeBlock):
                module.noise = self.generators["noise"]
        self.rows = subset(len(train_set), recipe.train_fraction, self.order)
        self.history: list[Epoch] = []

    def one_pass(self, epoch: int, watched: ResidentSet) -> None:
        """Pass over the training data once, validate, and add to the history."""
        recipe = self.recipe
        n_batches = math.ceil(len(self.rows) / recipe.batch_size)
        tally, rate = Tally(self.device), 0.0
        self.stepper.model.train()
        # Nearly equal batches: a last one of a single image would upset batch norm.
        for i, rows in enumerate(np.array_split(self.order.permutation(self.rows), n_batches)):
            rate = recipe.learning_rate * learning_rate_factor(
                recipe.schedule,
                epoch * n_batches + i,
                recipe.epochs * n_batches,
                round(recipe.warmup_epochs * n_batches),
            )
            images, targets = self.data.batch(torch.from_numpy(np.sort(rows)).to(self.device))
            images, targets = augment(
                recipe.augmentation, images, targets, self.generators["augmentation"],
                recipe.augmentation_parameter,
            )  # fmt: skip
            images = normalize(images, self.mean, self.std)
            tally.add(*self.stepper.step(images, targets, rate), targets)
            if i % _CHECK_STEPS == 0 or i == n_batches - 1:
                tally.check_finite(self.name, epoch + 1, recipe.learning_rate)
        last = epoch + 1 == recipe.epochs
        validated = last or (epoch + 1) % self.engine.validate_every == 0
        figures = self._validate(watched, epoch) if validated else (math.nan, math.nan)
        self.history.append(Epoch(epoch + 1, rate, tally.loss, tally.accuracy, *figures))

    def _validate(self, watched: ResidentSet, epoch: int) -> tuple[float, float]:
        """Mean loss and accuracy; also catches weights that the pass's last step spoilt."""
        model, tally = self.stepper.result, Tally(self.device)
        model.eval()
        with torch.inference_mode():
            for start in range(0, len(watched), _EVALUATION_BATCH):
                images, targets = watched.batch(slice(start, start + _EVALUATION_BATCH))
                logits = self.stepper.logits(normalize(images, self.mean, self.std), model)
                tally.add(self.stepper.loss(logits, targets), logits, targets)
        tally.check_finite(self.name, epoch + 1, self.recipe.learning_rate)
        return tally.loss, tally.accuracy

    def state(self) -> dict[str, Any]:
        """All that the rest of the training depends on."""
        return {
            "stepper": self.stepper.state(),
            "order": self.order.bit_generator.state,
            "generators": {name: g.get_state() for name, g in self.generators.items()},
            "history": [asdict(epoch) for epoch in self.history],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a state again."""
        self.stepper.restore(state["stepper"])
        self.order.bit_generator.state = state["order"]
        for name, generator in self.generators.items():
            generator.set_state(state["generators"][name].cpu())
        self.history = [Epoch(**values) for values in state["history"]]


def initial_model(name: str, recipe: Recipe, train_set: Dataset) -> nn.Module:
    """Make the model; torch draws initial weights from its global generator only."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed(name, recipe.seed, "weights"))
        return build_model(
            recipe.architecture,
            width=recipe.width,
            depth=recipe.depth,
            groups=recipe.groups,
            input_shape=train_set.image_shape,
            n_classes=train_set.n_classes,
        )
