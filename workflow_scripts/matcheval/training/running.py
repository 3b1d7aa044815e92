"""Training from files to files: the implementation of the entry point `train_model`."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from matcheval.datasets.folders import read_dataset
from matcheval.downloads.checksums import file_digests
from matcheval.errors import InputError
from matcheval.io.provenance import software_versions
from matcheval.models.checkpoints import Checkpoint, CheckpointInfo, save_checkpoint
from matcheval.models.packages import pretrained_weights
from matcheval.training import TRAINING_VERSION
from matcheval.training.engine import Engine
from matcheval.training.history import write_history
from matcheval.training.loop import train
from matcheval.training.recipe import Recipe
from matcheval.training.running_metrics import Epoch, kept_epoch


def parse_recipe(text: str, name: str) -> Recipe:
    """Read a recipe from JSON.

    Parameters
    ----------
    text : str
        A JSON object with the fields of `Recipe`.
    name : str
        The model's name, for messages.

    Returns
    -------
    Recipe

    Raises
    ------
    InputError
        If the text is not a JSON object, or its fields do not form a valid recipe.
    """
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
    train_folders: Sequence[Path],
    validation_folders: Sequence[Path],
    checkpoint_file: Path,
    history_file: Path,
    *,
    engine: Engine | None = None,
    is_to_stop: Callable[[], bool] = lambda: False,
    progress: bool = False,
) -> Epoch:
    """Train a model, and write its history and its checkpoint.

    The resume state of an unfinished training is saved beside the checkpoint as
    `<checkpoint's stem>.partial`, and deleted once the checkpoint is written.

    Parameters
    ----------
    name : str
        The model's name.
    recipe_json : str
        The recipe as a JSON object.
    train_folders : sequence of Path
        Folders of the training sets.
    validation_folders : sequence of Path
        Folders of the validation sets.
    checkpoint_file : Path
        The checkpoint to write, a safetensors file.
    history_file : Path
        The history to write, a CSV file that is updated after each epoch.
    engine : Engine, optional
        Device and other machine settings; by default one thread of the CPU.
    is_to_stop : callable
        As for `train`.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    Epoch
        Metrics of the epoch whose weights were kept.

    Raises
    ------
    InputError
        If the recipe or a dataset is invalid, or training fails (see `train`).
    """
    recipe = parse_recipe(recipe_json, name)
    train_sets = [read_dataset(folder) for folder in train_folders]
    validation_sets = [read_dataset(folder) for folder in validation_folders]
    first = train_sets[0]
    data = {
        "train": ", ".join(f"{each.name} {each.sha256}" for each in train_sets),
        "validation": ", ".join(f"{each.name} {each.sha256}" for each in validation_sets),
    }
    if recipe.pretrained:
        file = pretrained_weights(recipe.pretrained, name)
        data["pretrained"] = f"{file.name} {file_digests(file)['sha256']}"
    versions = software_versions("numpy", "torch") | {"training": str(TRAINING_VERSION)}
    resume_file = checkpoint_file.with_suffix(".partial")
    trained = train(
        name,
        recipe,
        train_sets,
        validation_sets,
        engine=engine,
        resume_file=resume_file,
        identity={"data": data, "versions": versions},
        on_epoch=lambda history: write_history(history, history_file),
        is_to_stop=is_to_stop,
        progress=progress,
    )
    info = CheckpointInfo(
        model=name,
        architecture=recipe.architecture,
        width=recipe.width,
        depth=recipe.depth,
        groups=recipe.groups,
        input_shape=first.image_shape,
        n_classes=first.n_classes,
        max_value=first.max_value,
        recipe=recipe.to_record(),
        data=data,
        versions=versions,
        classes=first.classes,
        mean=trained.mean,
        std=trained.std,
    )
    write_history(trained.history, history_file)
    save_checkpoint(Checkpoint(info, trained.state), checkpoint_file)
    resume_file.unlink(missing_ok=True)
    return trained.history[kept_epoch(trained.history, recipe.keep) - 1]
