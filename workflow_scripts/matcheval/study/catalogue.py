"""Model catalogues: a CSV or YAML file that people read and edit, a row per model."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matcheval.datasets.kinds import PREDICTIONS_KIND
from matcheval.errors import InputError
from matcheval.inference import OUTPUTS
from matcheval.io.user_files import check_columns, read_numbered_rows, read_yaml_list
from matcheval.models.rows import (
    CALLABLE,
    CHECKPOINT,
    PACKAGE,
    TIMM,
    TORCHVISION,
    TRAINED,
    ModelSource,
)
from matcheval.names import is_name
from matcheval.training.recipe import Recipe

_NOT_OF_RECIPES = ("name", "kind", "source", "train")
KINDS = (TRAINED, TIMM, TORCHVISION, CHECKPOINT, CALLABLE, PACKAGE, PREDICTIONS_KIND)


@dataclass(frozen=True)
class Model:
    """A row of a catalogue."""

    name: str
    recipe: Recipe | None
    source: ModelSource | None
    train: tuple[str, ...] = ()
    family: str = ""

    @property
    def recipe_json(self) -> str:
        """The recipe as JSON, for a command line; `null` where there is none."""
        return json.dumps(self.recipe and self.recipe.to_mapping(), sort_keys=True)

    def variant(self, name: str, recipe: Recipe) -> "Model":
        """Return a variant of this model, which is trained."""
        return replace(self, name=name, recipe=recipe, source=ModelSource(name, TRAINED))


def read_catalogue(path: str | os.PathLike[str]) -> dict[str, Model]:
    """Read and check a model catalogue."""
    path = Path(path)
    rows = _yaml_rows(path) if path.suffix in (".yaml", ".yml") else _csv_rows(path)
    if not rows:
        raise InputError("the catalogue has no models", file=path)
    models: dict[str, Model] = {}
    names: dict[str, str] = {}
    for place, row in rows:
        model = _model(row, place)
        # Some file systems do not tell upper from lower case.
        twin = names.setdefault(model.name.casefold(), model.name)
        if model.name in models or twin != model.name:
            raise InputError(
                f"model '{model.name}' is named twice",
                file=place,
                remedy="Names are unique, upper and lower case taken as one",
            )
        models[model.name] = model
    return models


_Rows = list[tuple[str, dict[str, Any]]]  # place in the file, and values by column


def _csv_rows(path: Path) -> _Rows:
    header, numbered = read_numbered_rows(path, "model catalogue")
    rows = [(f"{path}, line {line}", row) for line, row in numbered]
    remedy = "The first line names the columns, separated by commas"
    check_columns(header, ("name", "kind"), path, remedy)
    for place, row in rows:
        if None in row or None in row.values():
            raise InputError("the row has not as many cells as the header", file=place)
    return rows


def _yaml_rows(path: Path) -> _Rows:
    rows: _Rows = []
    for number, entry in enumerate(read_yaml_list(path), start=1):
        place = f"{path}, entry {number}"
        if not isinstance(entry, Mapping):
            raise InputError(f"'{entry}' is not a mapping of keys to values", file=place)
        for column in ("name", "kind"):
            if column not in entry:
                raise InputError("missing", file=place, field=column)
        rows.append((place, {str(key): value for key, value in entry.items()}))
    return rows


def _model(row: Mapping[str, Any], place: str) -> Model:
    values = {key: "" if value is None else value for key, value in row.items() if key != "note"}
    family = str(values.pop("family", "")).strip()
    # Of all but recipes, everything is text. YAML reads unquoted numbers as numbers.
    cells = {key: str(value).strip() for key, value in values.items()}
    name, kind = cells.pop("name"), cells.pop("kind")
    if not is_name(name) or name.endswith(tuple(f".{output}" for output in OUTPUTS)):
        raise InputError(
            f"'{name}' cannot be a name",
            file=place,
            field="name",
            remedy="Use at most 100 letters, digits, '.', '_' and '-', and do not end it with the "
            "name of an output",
        )
    if kind not in KINDS:
        raise InputError(
            f"'{kind}' is no kind of model",
            file=place,
            field="kind",
            remedy=f"Known: {', '.join(KINDS)}",
        )
    if kind == PREDICTIONS_KIND:
        filled = [key for key, value in cells.items() if value]
        if filled:
            raise InputError(
                f"'{name}' is known by its predictions only, yet {', '.join(filled)} is filled",
                file=place,
            )
        return Model(name, None, None, family=family)
    try:
        if kind != TRAINED:
            source = ModelSource.from_row(name, kind, cells)
            return Model(name, None, source, family=family)
        if cells.get("source"):
            raise InputError("is filled, and a trained model has none", field="source")
        recipe = {key: value for key, value in values.items() if key not in _NOT_OF_RECIPES}
        train = _names(values.get("train", ""))
        source = ModelSource(name, TRAINED)
        return Model(name, Recipe.from_mapping(recipe), source, train, family)
    except InputError as error:
        raise InputError(str(error), file=f"{place} ('{name}')") from error


def _names(given: Any) -> tuple[str, ...]:
    """Read the column `train`: names separated by spaces, or a list of names."""
    names = tuple(given.split() if isinstance(given, str) else given)
    for name in names:
        if not isinstance(name, str) or not is_name(name) or names.count(name) > 1:
            raise InputError(
                f"'{name}' is named twice or cannot be a name",
                field="train",
                remedy="Give names of datasets, separated by spaces",
            )
    return names
