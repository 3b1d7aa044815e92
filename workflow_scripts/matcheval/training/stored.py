"""Whether a model is trained already: by what its checkpoint says that it was made from."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matcheval.datasets.folders import read_description
from matcheval.errors import InputError
from matcheval.io.files import file_digest
from matcheval.models.checkpoints import read_info
from matcheval.models.packages import pretrained_weights
from matcheval.training import TRAINING_VERSION
from matcheval.training.recipe import Recipe


def data_of(
    recipe: Recipe, name: str, train: Sequence[Any], validation: Sequence[Any]
) -> dict[str, str]:
    """Return what checkpoints record of the data: names and digests of sets, and of the start."""
    data = {
        part: ", ".join(f"{one_name} {sha256}" for one_name, sha256 in sets)
        for part, sets in (("train", train), ("validation", validation))
    }
    if recipe.pretrained:
        file = pretrained_weights(recipe.pretrained, name)
        data["pretrained"] = f"{file.name} {file_digest(file)}"
    return data


def is_trained(
    name: str,
    recipe: str,
    train: Sequence[Path],
    validation: Sequence[Path],
    output: Path,
    history: Path,
) -> bool:
    """Whether the checkpoint and its history are there, whole, of this recipe and these data."""
    if not (output.is_file() and history.is_file()):
        return False
    try:
        info = read_info(output)
    except InputError:  # damaged, or of another version: trained again
        return False
    parsed = Recipe.from_mapping(dict(json.loads(recipe)), name)
    train_sets, validation_sets = (
        [(each["name"], each["sha256"]) for each in map(read_description, folders)]
        for folders in (train, validation)
    )
    expected = [
        name, json.loads(json.dumps(parsed.to_record())), str(TRAINING_VERSION),
        data_of(parsed, name, train_sets, validation_sets),
    ]  # fmt: skip
    return [info.model, info.recipe, info.versions.get("training"), info.data] == expected
