"""Model catalogues: a CSV file that people read and edit, a row per model."""

import csv
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from matcheval.datasets.specs import PREDICTIONS_KIND
from matcheval.errors import InputError
from matcheval.inference import OUTPUTS
from matcheval.models.rows import CALLABLE, CHECKPOINT, TIMM, TORCHVISION, TRAINED, ModelSource
from matcheval.settings import is_name
from matcheval.training.recipe import Recipe

KINDS = (TRAINED, TIMM, TORCHVISION, CHECKPOINT, CALLABLE, PREDICTIONS_KIND)


@dataclass(frozen=True)
class Model:
    """A row of a catalogue.

    Attributes
    ----------
    name : str
        Unique in its catalogue.
    recipe : Recipe or None
        How it is trained; None if it is not.
    source : ModelSource or None
        What it is loaded from; None for a model of kind `predictions`, known by its predictions
        only.
    """

    name: str
    recipe: Recipe | None
    source: ModelSource | None

    @property
    def recipe_json(self) -> str:
        """The recipe as JSON, for a command line; `null` where there is none."""
        return json.dumps(self.recipe and self.recipe.to_mapping(), sort_keys=True)

    def variant(self, name: str, recipe: Recipe) -> "Model":
        """Return a variant of this model, which is trained.

        Parameters
        ----------
        name : str
            Name of the variant.
        recipe : Recipe
            Its recipe.
        """
        return replace(self, name=name, recipe=recipe, source=ModelSource(name, TRAINED))


def read_catalogue(path: str | os.PathLike[str]) -> dict[str, Model]:
    """Read and check a model catalogue.

    Parameters
    ----------
    path : path-like
        CSV with a header. Columns `name` and `kind` (one of `KINDS`), for trained models the
        fields of `training.recipe.Recipe`, for others those that `models.rows.ModelSource`
        takes, and a free `note`.

    Returns
    -------
    dict
        Models by name, in file order.

    Raises
    ------
    InputError
        Naming file, line, column and value: a missing file or column, no rows, a name that is
        twice there or no name, an unknown kind, a bad recipe.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            rows = [(reader.line_num, row) for row in reader]
    except FileNotFoundError as error:
        raise InputError("no such model catalogue", file=path) from error
    except (csv.Error, UnicodeDecodeError, OSError) as error:
        raise InputError(f"not readable as CSV ({error})", file=path) from error
    missing = [column for column in ("name", "kind") if column not in (reader.fieldnames or ())]
    if missing:
        raise InputError(
            f"no column {' and '.join(missing)} in the header {reader.fieldnames}",
            file=path,
            remedy="The first line names the columns, separated by commas",
        )
    if not rows:
        raise InputError("the catalogue has no models", file=path)
    models: dict[str, Model] = {}
    names: dict[str, str] = {}
    for line, row in rows:
        place = f"{path}, line {line}"
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


def _model(row: Mapping[str | None, str | None], place: str) -> Model:
    cells = {key: (value or "").strip() for key, value in row.items() if key is not None}
    if None in row or None in row.values():
        raise InputError("the row has not as many cells as the header", file=place)
    name, kind = cells.pop("name"), cells.pop("kind")
    cells.pop("note", None)
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
        return Model(name, None, None)
    try:
        if kind != TRAINED:
            return Model(name, None, ModelSource.from_row(name, kind, cells))
        if cells.pop("source", ""):
            raise InputError("is filled, and a trained model has none", field="source")
        return Model(name, Recipe.from_mapping(cells), ModelSource(name, TRAINED))
    except InputError as error:
        raise InputError(str(error), file=f"{place} ('{name}')") from error
