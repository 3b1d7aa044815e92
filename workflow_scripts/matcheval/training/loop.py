"""Training from a recipe and datasets to a checkpoint and a history, resumed where it was killed.

The state of an unfinished training is a torch file, loaded with `weights_only`, so that loading
runs no code. It records the identity of its training (model, recipe, data, versions, machine
settings), and only a training of the same identity goes on from it: a killed job loses minutes.
"""

import json
import logging
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from tqdm import tqdm

from matcheval.datasets.dataset import Dataset, check_alike
from matcheval.datasets.folders import read_dataset, read_description
from matcheval.errors import InputError, StoppedError
from matcheval.io.files import atomic_file, file_digest, readable
from matcheval.io.provenance import software_versions
from matcheval.io.self_digests import enter_digest_of_archive, verify_file
from matcheval.io.tables import Column, TableSchema, write_table
from matcheval.models import devices
from matcheval.models.checkpoints import Checkpoint, CheckpointInfo, read_info, save_checkpoint
from matcheval.models.packages import pretrained_weights
from matcheval.training import TRAINING_VERSION
from matcheval.training.data import ResidentSet, check_sources
from matcheval.training.recipe import Recipe
from matcheval.training.run import Epoch, Run, kept_epoch
from matcheval.training.settings import Engine

log = logging.getLogger(__name__)

_STATE_FORMAT = 4  # of the resume state, as part of its identity


def save_resume_state(path: Path, identity: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Write the state of an unfinished training with its identity, atomically."""
    with atomic_file(path) as temporary:
        torch.save(
            {"identity": json.dumps(identity, sort_keys=True), "state": dict(state)}, temporary
        )
        enter_digest_of_archive(temporary)


def load_resume_state(path: Path, identity: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read the state of an unfinished training; None if missing, damaged or of another one."""
    if not path.is_file():
        return None
    try:
        with readable(path, "a state", RuntimeError, EOFError, pickle.UnpicklingError, KeyError):
            verify_file(path)
            content = torch.load(path, map_location="cpu", weights_only=True)
            old, state = json.loads(content["identity"]), content["state"]
    except InputError as error:
        log.warning("not readable (%s); training starts from the beginning", error)
        return None
    wanted = json.loads(json.dumps(identity, sort_keys=True))
    if old != wanted:
        keys = sorted(k for k in old.keys() | wanted.keys() if old.get(k) != wanted.get(k))
        changes = ", ".join(f"{key} {old.get(key)} -> {wanted.get(key)}" for key in keys)
        log.warning(
            "%s: belongs to another training run (%s); training starts from the beginning",
            path, changes,
        )  # fmt: skip
        return None
    return dict(state)


def train(
    name: str, recipe: Recipe, train_sets: Sequence[Dataset],
    validation: Dataset | Sequence[Dataset], *, engine: Engine | None = None,
    resume_file: Path | None = None, identity: Mapping[str, Any] | None = None,
    on_epoch: Callable[[Sequence[Epoch]], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False, progress: bool = False,
) -> Run:  # fmt: skip
    """Train a model by a recipe; return the run, with weights, history and normalisation."""
    validation_sets = [validation] if isinstance(validation, Dataset) else list(validation)
    check_alike([*train_sets, *validation_sets], name)
    check_sources(name, recipe, train_sets)
    engine = engine or Engine()
    device = devices.resolve_device(engine.device)
    devices.check_precision(device, recipe.precision, file=name)
    full_identity = {
        "format": _STATE_FORMAT, "model": name, **recipe.to_record(),
        **engine.identity(device.type), **(identity or {}),
    }  # fmt: skip
    size = recipe.batch_size * len(train_sets)
    memory = devices.full_memory(
        f"{device.type} ran out of memory at batches of {size} images",
        file=name,
        field="batch_size",
        remedy="Use a smaller batch_size (and learning_rate), precision bf16, or a larger GPU",
    )
    on_cpu = device.type == "cpu"
    arithmetic = (
        devices.repeatable_arithmetic(engine.n_threads, strict=on_cpu)
        if engine.deterministic or on_cpu
        else devices.arithmetic(engine.n_threads, deterministic=False)
    )
    with arithmetic, memory:
        run = Run(name, recipe, train_sets, engine, device)
        resident = [ResidentSet(data, device, engine.channels_last) for data in validation_sets]
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
            run.train_epoch(epoch, resident)
            bar.set_postfix(loss=run.history[-1].train_loss)
            if on_epoch:
                on_epoch(run.history)
            stops = resume_file is not None and epoch + 1 < recipe.epochs and should_stop()
            if resume_file and (stops or time.monotonic() - saved >= 60 * engine.save_minutes):
                save_resume_state(resume_file, full_identity, run.resume_state())
                run.note_saved(resume_file)
                saved = time.monotonic()
            if stops:
                raise StoppedError(f"stopped as its time is nearly over; {run.saved}", file=name)
        return run


HISTORY = TableSchema(
    "history",
    Column("epoch", pa.int32(), "1", "pass over the training data, from 1"),
    Column("learning_rate", pa.float64(), "1", "learning rate of the pass's last step"),
    Column("train_loss", pa.float64(), "1", "mean loss over the pass, augmented images"),
    Column("train_accuracy", pa.float64(), "1", "accuracy over the pass, as a fraction"),
    Column("validation_loss", pa.float64(), "1", "loss after the pass, or NaN"),
    Column("validation_accuracy", pa.float64(), "1", "accuracy after the pass, or NaN"),
)


def train_to_checkpoint(
    name: str, recipe_json: str, train_folders: Sequence[Path],
    validation_folders: Sequence[Path], checkpoint_file: Path, history_file: Path, *,
    engine: Engine | None = None, should_stop: Callable[[], bool] = lambda: False,
    progress: bool = False,
) -> Epoch:  # fmt: skip
    """Train a model on prepared datasets, write history and checkpoint; return the kept epoch."""
    try:
        recipe = Recipe.from_mapping(dict(json.loads(recipe_json)), name)
    except (json.JSONDecodeError, TypeError) as error:
        raise InputError(f"not a JSON object ({error})", file=name, field="recipe") from error
    train_sets = [read_dataset(folder) for folder in train_folders]
    validation_sets = [read_dataset(folder) for folder in validation_folders]
    first = train_sets[0]
    data = describe_data(
        recipe, name,
        *([(data.name, data.sha256) for data in sets] for sets in (train_sets, validation_sets)),
    )  # fmt: skip
    versions = software_versions("numpy", "torch") | {"training": str(TRAINING_VERSION)}
    resume_file = checkpoint_file.with_suffix(".partial")
    # An earlier checkpoint keeps its history until the new one is there.
    partial_history = checkpoint_file.with_suffix(".partial.csv")
    trained = train(
        name, recipe, train_sets, validation_sets, engine=engine, resume_file=resume_file,
        identity={"data": data, "versions": versions},
        on_epoch=lambda history: write_table(HISTORY.from_records(history), partial_history),
        should_stop=should_stop, progress=progress,
    )  # fmt: skip
    info = CheckpointInfo(
        model=name, architecture=recipe.architecture, width=recipe.width, depth=recipe.depth,
        groups=recipe.groups, input_shape=first.image_shape, n_classes=first.n_classes,
        max_value=first.max_value, recipe=recipe.to_record(), data=data, versions=versions,
        classes=first.classes, mean=trained.mean, std=trained.std,
    )  # fmt: skip
    write_table(HISTORY.from_records(trained.history), history_file)
    save_checkpoint(Checkpoint(info, trained.state), checkpoint_file)
    for file in (resume_file, partial_history):
        file.unlink(missing_ok=True)
    return trained.history[kept_epoch(trained.history, recipe.keep) - 1]


def describe_data(
    recipe: Recipe, name: str, train: Sequence[tuple[str, str]],
    validation: Sequence[tuple[str, str]],
) -> dict[str, str]:  # fmt: skip
    """Describe the data as checkpoints record them: names and digests of sets and start weights."""
    data = {
        part: ", ".join(f"{set_name} {sha256}" for set_name, sha256 in sets)
        for part, sets in (("train", train), ("validation", validation))
    }
    if recipe.pretrained:
        file = pretrained_weights(recipe.pretrained, name)
        data["pretrained"] = f"{file.name} {file_digest(file)}"
    return data


def is_trained(
    name: str, recipe: str, train: Sequence[Path], validation: Sequence[Path], output: Path,
    history: Path,
) -> bool:  # fmt: skip
    """Return whether the history exists, and an undamaged checkpoint of this recipe and data."""
    if not (output.is_file() and history.is_file()):
        return False
    try:
        info = read_info(output)
    except InputError:  # damaged, or of another version: trained again
        return False
    parsed = Recipe.from_mapping(dict(json.loads(recipe)), name)
    train_sets, validation_sets = (
        [(data["name"], data["sha256"]) for data in map(read_description, folders)]
        for folders in (train, validation)
    )
    expected = [
        name, json.loads(json.dumps(parsed.to_record())), str(TRAINING_VERSION),
        describe_data(parsed, name, train_sets, validation_sets),
    ]  # fmt: skip
    return [info.model, info.recipe, info.versions.get("training"), info.data] == expected
