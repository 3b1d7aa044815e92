"""From files to files: what the door `train_model` opens."""

import json
from pathlib import Path

from matcheval.datasets.folders import read_dataset
from matcheval.errors import InputError
from matcheval.models.checkpoints import Checkpoint, CheckpointInfo, save_checkpoint
from matcheval.provenance import software_versions
from matcheval.training import TRAINING_VERSION
from matcheval.training.history import write_history
from matcheval.training.loop import Epoch, train
from matcheval.training.recipe import Recipe


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
    n_threads: int = 1,
    progress: bool = False,
) -> Epoch:
    """Train a model, and write its history and its checkpoint.

    Parameters
    ----------
    name : str
        The model's name.
    recipe_json : str
        Its recipe, a JSON object.
    train_folder, validation_folder : Path
        Datasets.
    checkpoint_file, history_file : Path
        What to write: safetensors, and CSV.
    n_threads, progress
        As for `train`.

    Returns
    -------
    Epoch
        The last epoch's figures.

    Raises
    ------
    InputError
        If the recipe or a dataset is unsound, or training diverges.
    """
    recipe = parse_recipe(recipe_json, name)
    train_set, validation_set = read_dataset(train_folder), read_dataset(validation_folder)
    trained = train(name, recipe, train_set, validation_set, n_threads=n_threads, progress=progress)
    info = CheckpointInfo(
        model=name,
        architecture=recipe.architecture,
        width=recipe.width,
        depth=recipe.depth,
        input_shape=train_set.image_shape,
        n_classes=train_set.n_classes,
        max_value=train_set.max_value,
        recipe=recipe.to_mapping(),
        data={
            "train": f"{train_set.name} {train_set.sha256}",
            "validation": f"{validation_set.name} {validation_set.sha256}",
        },
        versions=software_versions("numpy", "torch") | {"training": str(TRAINING_VERSION)},
    )
    write_history(trained.history, history_file)
    save_checkpoint(Checkpoint(info, trained.state), checkpoint_file)
    return trained.history[-1]
