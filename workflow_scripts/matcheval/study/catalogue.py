"""Model catalogues: a CSV or YAML file that people read and edit, a row per model."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from matcheval.datasets.kinds import PREDICTIONS_KIND
from matcheval.errors import InputError, check_known
from matcheval.inference import OUTPUTS
from matcheval.io.user_files import check_columns, read_numbered_rows, read_yaml_list
from matcheval.models import rows
from matcheval.models.rows import TRAINED, ModelSource
from matcheval.names import is_name
from matcheval.training.recipe import Recipe

_NOT_OF_RECIPES = ("name", "kind", "source", "train")
KINDS = (TRAINED, *rows.PUBLISHED, rows.CHECKPOINT, *rows.FROM_CODE, PREDICTIONS_KIND)


@dataclass(frozen=True)
class Model:
    """A model of a catalogue: its recipe if it is trained, and the source of its weights if any."""

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
        """Return a copy of this model with another name and recipe, by which it is trained."""
        return replace(self, name=name, recipe=recipe, source=ModelSource(name, TRAINED))


@dataclass(frozen=True)
class TrainedModel:
    """A model to train, with the names of its training and validation sets."""

    model: Model
    train: tuple[str, ...]
    validation: tuple[str, ...]

    @property
    def recipe(self) -> Recipe:
        """The recipe by which the model is trained."""
        assert self.model.recipe is not None, self.model.name
        return self.model.recipe


@dataclass(frozen=True)
class TestedModels:
    """Models that an analysis trains, and the datasets that one job runs all of them on."""

    models: tuple[str, ...]
    datasets: tuple[str, ...]


def read_catalogue(path: str | os.PathLike[str]) -> dict[str, Model]:
    """Read and check a model catalogue, a CSV or YAML file; return its models by name."""
    path = Path(path)
    models: dict[str, Model] = {}
    names: set[str] = set()
    for place, row in _yaml_rows(path) if path.suffix in (".yaml", ".yml") else _csv_rows(path):
        model = _build_model(row, place)
        # Some file systems do not tell upper from lower case.
        if model.name.casefold() in names:
            remedy = "Names are unique, upper and lower case taken as one"
            raise InputError(f"model '{model.name}' is named twice", file=place, remedy=remedy)
        names.add(model.name.casefold())
        models[model.name] = model
    if not models:
        raise InputError("the catalogue has no models", file=path)
    return models


_Rows = Iterator[tuple[str, Mapping[str, Any]]]  # place in the file, and values by column


def _csv_rows(path: Path) -> _Rows:
    """Yield the rows of a CSV catalogue, or of a list of timm's models, each with its place."""
    header, numbered = read_numbered_rows(path, "model catalogue")
    if len(header) == 1 and header[0] not in ("name", "kind", "model") and is_name(header[0]):
        numbered = [(1, {"model": header[0]}), *((n, {"model": r[header[0]]}) for n, r in numbered)]
        header = ["model"]
    is_list = "model" in header and not {"name", "kind"} & {*header}
    if not is_list:
        remedy = (
            "The first line names the columns, separated by commas; `kind` is one of "
            f"{', '.join(KINDS)}. A list of timm's models needs a column `model` only"
        )
        check_columns(header, ("name", "kind"), path, remedy)
    for line, row in numbered:
        place = f"{path}, line {line}"
        if None in row or None in row.values():
            raise InputError("the row has not as many cells as the header", file=place)
        yield place, _convert_timm_row(row, place) if is_list else row


def _convert_timm_row(row: Mapping[str, str], place: str) -> dict[str, str]:
    """Convert a row of a list of timm's models, with a column `model`, to a row of a catalogue."""
    model, pretrained = row["model"].strip(), row.get("pretrained", "true").strip().lower()
    if pretrained not in ("true", "false", "1", "0"):
        problem = f"'{pretrained}' is neither true nor false"
        raise InputError(problem, file=place, field="pretrained")
    if pretrained in ("true", "1"):
        return {"name": model, "kind": rows.TIMM, "source": model}
    return {"name": model, "kind": rows.RANDOM, "source": model.partition(".")[0]}


def _yaml_rows(path: Path) -> _Rows:
    """Yield a YAML catalogue's entries with their places; refuse those without name or kind."""
    for number, entry in enumerate(read_yaml_list(path), start=1):
        place = f"{path}, entry {number}"
        if not isinstance(entry, Mapping):
            raise InputError(f"'{entry}' is not a mapping of keys to values", file=place)
        for column in ("name", "kind"):
            if column not in entry:
                raise InputError("missing", file=place, field=column)
        yield place, {str(key): value for key, value in entry.items()}


def _build_model(row: Mapping[str, Any], place: str) -> Model:
    values = {key: "" if value is None else value for key, value in row.items() if key != "note"}
    family = str(values.pop("family", "")).strip()
    # Of all but recipes, everything is text. YAML reads unquoted numbers as numbers.
    cells = {key: str(value).strip() for key, value in values.items()}
    name, kind = cells.pop("name"), cells.pop("kind")
    if not is_name(name) or name.endswith(tuple(f".{output}" for output in OUTPUTS)):
        remedy = "Use at most 100 letters, digits, '.', '_', '-', and end with no name of an output"
        raise InputError(f"'{name}' cannot be a name", file=place, field="name", remedy=remedy)
    check_known("kind of model", [kind], KINDS, file=place, field="kind")
    if kind == PREDICTIONS_KIND:
        # Other columns are the user's, for tables of their own.
        other_columns = {"source", "train", *(field.name for field in fields(Recipe))}
        if filled := ", ".join(key for key in cells if cells[key] and key in other_columns):
            problem = f"'{name}' is known by its predictions only, yet {filled} is filled"
            raise InputError(problem, file=place)
        return Model(name, None, None, family=family)
    try:
        if kind != TRAINED:
            return Model(name, None, ModelSource.from_row(name, kind, cells), family=family)
        if cells.get("source"):
            raise InputError("is filled, and a trained model has none", field="source")
        recipe = {key: value for key, value in values.items() if key not in _NOT_OF_RECIPES}
        train = _read_train_names(values.get("train", ""))
        return Model(name, Recipe.from_mapping(recipe), ModelSource(name, TRAINED), train, family)
    except InputError as error:
        raise InputError(str(error), file=f"{place} ('{name}')") from error


def _read_train_names(cell: Any) -> tuple[str, ...]:
    """Read the column `train`: names of datasets separated by spaces, or a list of them."""
    names = tuple(cell if isinstance(cell, list) else str(cell).split())
    for name in names:
        if not isinstance(name, str) or not is_name(name) or names.count(name) > 1:
            problem = f"'{name}' is named twice or cannot be a name"
            remedy = "Give names of datasets, separated by spaces"
            raise InputError(problem, field="train", remedy=remedy)
    return names
