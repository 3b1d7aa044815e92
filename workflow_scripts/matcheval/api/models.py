"""The predictions of one model or many on two sets: by patterns of files, by name, or alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matcheval.api.inputs import Given, Models, is_of_several
from matcheval.errors import InputError
from matcheval.io.text_tables import counted
from matcheval.predictions.patterns import MODEL, files_by_model

ORIGINS = ("original", "replication")
_MAX_SHOWN = 5  # names in a message


@dataclass(frozen=True, eq=False)
class GivenModel:
    """The predictions of one model on two sets.

    Attributes
    ----------
    name : str
        Name of the model, as far as the caller or the files' names tell; else empty.
    original, replication : Given
    """

    name: str
    original: Given
    replication: Given

    @property
    def sets(self) -> dict[str, Given]:
        """Both by origin."""
        return {"original": self.original, "replication": self.replication}

    @property
    def has_files(self) -> bool:
        """Whether both are files."""
        return all(given.path is not None for given in self.sets.values())


def given_models(original: Models, replication: Models) -> tuple[list[GivenModel], list[str]]:
    """Find the models in what a caller gave.

    Parameters
    ----------
    original, replication : path-like, table, mapping of arrays, or mapping of these by model
        Paths may have `{model}` in the place of names of models.

    Returns
    -------
    models : list of GivenModel
        Those of patterns sorted by name, others in their order.
    left_out : list of str
        Sentences on models of a pattern that have a file on one set only.

    Raises
    ------
    InputError
        If there are no models, or the two name different ones.
    """
    both = (original, replication)
    if all(isinstance(one, str | Path) for one in both):
        return by_pattern(str(original), str(replication))
    of_models = [is_of_several(one) for one in both]
    if not any(of_models):
        return [GivenModel("", *map(Given.of, both, ORIGINS))], []
    if not (isinstance(original, Mapping) and isinstance(replication, Mapping) and all(of_models)):
        raise InputError(
            "one set has a model's name with its predictions, the other has none",
            remedy="Give both as {name: predictions}, or both as predictions of one model",
        )
    shared = original.keys() & replication.keys()
    alone = [name for name in {**original, **replication} if name not in shared]
    if alone:
        shown = ", ".join(map(str, alone[:_MAX_SHOWN])) + ", ..." * (len(alone) > _MAX_SHOWN)
        raise InputError(
            f"{counted(len(alone), 'model')} with predictions on one set only: {shown}",
            remedy="Give the predictions of every model on both sets",
        )
    return [
        GivenModel(
            str(name),
            Given.of(original[name], f"original of {name}"),
            Given.of(replication[name], f"replication of {name}"),
        )
        for name in original
    ], []


def by_pattern(original: str, replication: str) -> tuple[list[GivenModel], list[str]]:
    """Find files by patterns, or take two files as they are.

    Parameters
    ----------
    original, replication : str
        Files; both or none with `{model}`, which may stand for a folder.

    Returns
    -------
    models : list of GivenModel
        Sorted by name.
    left_out : list of str
        Sentences on models with a file on one set only: the first ones, and how many more.

    Raises
    ------
    InputError
        If there are no such files.
    """
    counts = {pattern.count(MODEL) for pattern in (original, replication)}
    if counts == {0}:
        return [GivenModel("", *map(Given.of, (original, replication), ORIGINS))], []
    if counts != {1}:
        raise InputError(
            f"original {original} and replication {replication}: each must hold {MODEL} once",
            remedy="Write it where the names of the files differ: 'old/{model}.parquet'",
        )
    old, new = files_by_model(original), files_by_model(replication)
    both = sorted(old.keys() & new.keys())
    if not both:
        pattern, files = (original, old) if not old else (replication, new)
        why = "there are no files of this name" if not files else "no model has files on both sets"
        raise InputError(why, file=pattern, remedy="Look at the folder, and at the pattern")
    alone = sorted(old.keys() ^ new.keys())
    left_out = [
        f"model {model} is left out: it has no file "
        + (replication if model in old else original).replace(MODEL, model)
        for model in alone[:_MAX_SHOWN]
    ]
    if len(alone) > _MAX_SHOWN:
        left_out.append(
            f"{len(alone) - _MAX_SHOWN} more models are left out, too, so that {len(both)} of "
            f"{len(alone) + len(both)} are compared"
        )
    models = [
        GivenModel(model, Given("original", old[model]), Given("replication", new[model]))
        for model in both
    ]
    return models, left_out


def set_name(given: Given, model: str) -> str:
    """Return what a set is called if its predictions do not tell.

    Parameters
    ----------
    given : Given
        A model's predictions on it.
    model : str
        Name of the model, if a file is named after it; else empty.

    Returns
    -------
    str
        The file's name without suffix; the folder's if the file is named after the model. Without
        a file, its role.
    """
    path = given.path
    if path is None:
        return given.name.removesuffix(f" of {model}")
    rest = path.stem.replace(model, "").strip("-_. ") if model else path.stem
    return rest or path.resolve().parent.name


def all_given(models: Sequence[GivenModel]) -> list[Given]:
    """Return the predictions of all models on both sets.

    Parameters
    ----------
    models : sequence of GivenModel
    """
    return [given for model in models for given in model.sets.values()]
