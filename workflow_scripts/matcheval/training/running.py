"""From files to files: what the door `train_model` opens."""

import json
from dataclasses import asdict
from pathlib import Path

from matcheval.datasets.folders import read_dataset
from matcheval.errors import InputError
from matcheval.io.provenance import software_versions
from matcheval.models.checkpoints import Checkpoint, CheckpointInfo, save_checkpoint
from matcheval.training import TRAINING_VERSION
from matcheval.training.engine import Engine
from matcheval.training.history import write_history
from matcheval.training.loop import train
from matcheval.training.recipe import Recipe
from matcheval.training.running_metrics import Epoch


def parse_recipe(text: str, name: str) -> Recipe:
    """Read a recipe from a JSON object (see `Recipe.from_mapping`)."""
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON ({error})", file=name, field="recipe") from error
    if not isinstance(values, dict):
        raise InputError("not a JSON object", file=name, field="recipe")
    return Recipe.from_mapping(values, name)


def train_to_checkpoint(
    name: str,
    recipe_json: str,
    train_folder: Path,
    validation_folder: Path,
    checkpoint_file: Path,
    history_file: Path,
    *,
    engine: Engine | None = None,
    progress: bool = False,
) -> Epoch:
    """Train a model, and write its history and its checkpoint.

    An unfinished training is kept beside the checkpoint as `<checkpoint's stem>.partial`, taken
    up from there, and removed at the end.

    Parameters
    ----------
    name : str
        The model's name.
    recipe_json : str
        Its recipe, a JSON object.
    train_folder, validation_folder : Path
        Datasets.
    checkpoint_file, history_file : Path
        What to write: safetensors, and CSV, which grows with each epoch.
    engine, progress
        As for `train`.

    Returns
    -------
    Epoch
        The last epoch's figures.

    Raises
    ------
    InputError
        If the recipe or a dataset is unsound, or training fails (see `train`).
    """
    recipe = parse_recipe(recipe_json, name)
    train_set, validation_set = read_dataset(train_folder), read_dataset(validation_folder)
    data = {
        "train": f"{train_set.name} {train_set.sha256}",
        "validation": f"{validation_set.name} {validation_set.sha256}",
    }
    versions = software_versions("numpy", "torch") | {"training": str(TRAINING_VERSION)}
    partial = checkpoint_file.with_suffix(".partial")
    trained = train(
        name,
        recipe,
        train_set,
        validation_set,
        engine=engine,
        partial=partial,
        identity={"data": data, "versions": versions},
        on_epoch=lambda history: write_history(history, history_file),
        progress=progress,
    )
    info = CheckpointInfo(
        model=name,
        architecture=recipe.architecture,
        width=recipe.width,
        depth=recipe.depth,
        groups=recipe.groups,
        input_shape=train_set.image_shape,
        n_classes=train_set.n_classes,
        max_value=train_set.max_value,
        recipe=asdict(recipe),
        data=data,
        versions=versions,
        classes=train_set.classes,
        mean=trained.mean,
        std=trained.std,
    )
    write_history(trained.history, history_file)
    save_checkpoint(Checkpoint(info, trained.state), checkpoint_file)
    partial.unlink(missing_ok=True)
    return trained.history[-1]
