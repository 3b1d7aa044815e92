"""Training from files to files: the implementation of the entry point `train_model`."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from matcheval.datasets.folders import read_dataset
from matcheval.downloads.verification import file_digests
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
    """Read a recipe from JSON."""
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
    """Train a model, and write its history and its checkpoint."""
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
