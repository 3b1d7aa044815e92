"""The training loop: turns a recipe and data into weights and a history."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor
from tqdm import tqdm

from matcheval.datasets.dataset import Dataset
from matcheval.errors import StoppedError
from matcheval.models.devices import full_memory
from matcheval.training.data import ResidentSet, check_sets
from matcheval.training.engine import Engine
from matcheval.training.recipe import Recipe
from matcheval.training.resume import load_resume_state, save_resume_state
from matcheval.training.run import Run
from matcheval.training.running_metrics import Epoch
from matcheval.training.sources import check_sources

_STATE_FORMAT = 3  # of the resume state, as part of its identity


@dataclass(frozen=True, eq=False)
class Training:
    """The result of a training run."""

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
    """Train a model."""
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
        run = Run(name, recipe, train_sets, engine, device)
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
