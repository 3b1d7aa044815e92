"""The predictions of one model or many on two sets: by patterns of files, by name, or alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from matcheval.api.inputs import Given, Models, is_of_several
from matcheval.datasets.pairs import Pair
from matcheval.errors import ErrorCollector, InputError
from matcheval.io.progress import each
from matcheval.io.text_tables import counted
from matcheval.names import MAX_NAME_LENGTH, is_name
from matcheval.predictions.files import contents_of
from matcheval.predictions.layout import Layout
from matcheval.predictions.patterns import MODEL, files_by_model
from matcheval.predictions.records import Predictions, check_predictions
from matcheval.protocol.blocks import Blocks
from matcheval.protocol.compared_models import ComparedModels, PredictionFile
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.criteria import MAX_SEEDS, Criterion, check_epsilon
from matcheval.protocol.pair_blocks import blocks_of_pair, groups_of_models
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.suspicions import MANY_UNMATCHED, suspicions_of

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


Origin = Literal["original", "replication"]


@dataclass(frozen=True)
class PairOptions:
    """What a caller says of a pair of sets.

    Attributes
    ----------
    pair : str
        Name of the pair; random matches depend on it and on the model's name.
    model : str
        Name of a model that is not named otherwise; empty for the one in its predictions.
    source : str or None
        `original` or `replication`; None for the protocol's rule, the larger set.
    paired, groups_shared : bool
        See `Pair`.
    names : tuple of str, optional
        What original and replication are called; by default as their predictions or files say.

    Raises
    ------
    InputError
        On creation, if one is not valid.
    """

    pair: str = "pair"
    model: str = ""
    source: Origin | None = None
    paired: bool = False
    groups_shared: bool = False
    names: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        """Check names."""
        if not isinstance(self.pair, str) or not is_name(self.pair):
            raise InputError(
                f"pair {self.pair!a:.100} is not a valid name",
                remedy="Use letters, digits, '.', '_' and '-'",
            )
        if self.source not in (None, "original", "replication"):
            raise InputError(
                f"source is {self.source!r:.60}",
                remedy="Give 'original' or 'replication', or leave it out for the larger set",
            )
        if self.names is not None:
            check_names(self.names)


def check_names(names: object) -> None:
    """Check the names that a caller gave to original and replication.

    Parameters
    ----------
    names : object

    Raises
    ------
    InputError
        If they are not two different names that can be printed.
    """
    is_pair = isinstance(names, tuple | list) and len(names) == 2 and names[0] != names[1]
    if not is_pair or not all(_is_name(name) for name in names):  # type: ignore[attr-defined]
        raise InputError(
            f"names is {names!a:.100}", remedy="Give the names of the two sets, such as ('a', 'b')"
        )


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and 0 < len(name) <= MAX_NAME_LENGTH


def methods_of(criteria: Sequence[str], epsilon: float, n_seeds: int) -> dict[str, MatchingMethod]:
    """Check how predictions are to be matched.

    Parameters
    ----------
    criteria : sequence of str
        Values of `Criterion`.
    epsilon : float
        Largest difference of matched probabilities, in (0, 1].
    n_seeds : int
        Runs per model, with seeds 0, 1, ....

    Returns
    -------
    dict of str to MatchingMethod
        By the criterion's name, each once.

    Raises
    ------
    InputError
        If one is out of range or unknown.
    """
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.number):
        raise InputError(f"epsilon is {epsilon!r:.60}", remedy="Give a number, usually 0.005")
    check_epsilon(float(epsilon))
    if isinstance(n_seeds, bool) or not isinstance(n_seeds, int | np.integer):
        raise InputError(f"seeds is {n_seeds!r:.60}", remedy=f"Give 1 to {MAX_SEEDS:,}")
    if not 1 <= n_seeds <= MAX_SEEDS:
        what = "no run" if n_seeds < 1 else "too many runs"
        raise InputError(f"seeds {n_seeds} gives {what}", remedy=f"Give 1 to {MAX_SEEDS:,}")
    known = [criterion.value for criterion in Criterion]
    names = [criteria] if isinstance(criteria, str) else list(criteria)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise InputError(
            f"unknown criterion {unknown[0]!r:.60}" if unknown else "no criterion",
            remedy=f"Known: {', '.join(known)}",
        )
    return {
        Criterion(name).value: MatchingMethod(criterion=Criterion(name), epsilon=float(epsilon))
        for name in dict.fromkeys(names)
    }


def checked_model_name(model: str) -> str:
    """Check the name of a model, and return it.

    Parameters
    ----------
    model : str

    Raises
    ------
    InputError
        If it is not printable, empty or too long.
    """
    if not _is_name(model):
        raise InputError(
            f"the name of the model, {model!a:.100}, is not printable or too long",
            remedy=f"Give --model NAME (in Python, model), of up to {MAX_NAME_LENGTH} characters",
        )
    return model


UNNAMED = "model"  # the name of a model that neither predictions nor arguments name


def read_given(given: Given, layout: Layout, n_classes: int | None = None) -> Predictions:
    """Read the predictions of one model on one dataset, and check that they are valid.

    Parameters
    ----------
    given : Given
    layout : Layout
        How they are laid out.
    n_classes : int, optional
        As for `check_predictions`.

    Raises
    ------
    InputError
        As `predictions.files.read_predictions`.
    """
    found = contents_of(given.raw(layout), layout=layout)
    return check_predictions(
        found.columns, file=given.place, n_classes=n_classes, metadata=found.metadata
    )


def read_compared(
    models: Sequence[GivenModel],
    options: PairOptions,
    methods: Mapping[str, MatchingMethod],
    n_seeds: int,
    layout: Layout,
    n_classes: int | None = None,
    *,
    progress: bool = False,
) -> ComparedModels:
    """Read the predictions of all models on both sets of a pair.

    Parameters
    ----------
    models : sequence of GivenModel
        At least one.
    options : PairOptions
    methods : mapping of str to MatchingMethod
        By name of the matching.
    n_seeds : int
        Runs per model.
    layout : Layout
        How the predictions are laid out.
    n_classes : int, optional
        As for `check_predictions`.
    progress : bool
        Whether a terminal shows progress bars.

    Raises
    ------
    InputError
        If predictions are invalid, naming all that are, or cannot be compared.
    """
    problems, comparisons = ErrorCollector(), list[Comparison]()
    pair: Pair | None = None
    for one in each(models, "reading predictions", progress=progress):
        with problems.collected():
            read = {o: read_given(given, layout, n_classes) for o, given in one.sets.items()}
            pair = pair or _pair(one, read, options)
            comparisons.append(
                Comparison(
                    _model_name(one, read, options), pair, read["original"], read["replication"]
                )
            )
    problems.raise_any()
    _check_distinct([comparison.model for comparison in comparisons])
    files = [
        {o: PredictionFile(given.path, layout) for o, given in one.sets.items() if given.path}
        for one in models
    ]
    known = ComparedModels(
        comparisons[0].pair,
        tuple(comparisons),
        methods,
        tuple(range(n_seeds)),
        files=tuple(files) if all(one.has_files for one in models) else (),
    )  # which checks that all are of the same datapoints: groups are read for those
    return replace(known, blocks=_blocks(comparisons[0], models, layout))


def _pair(one: GivenModel, read: Mapping[str, Predictions], options: PairOptions) -> Pair:
    names = {
        origin: read[origin].metadata.get("dataset", set_name(given, one.name))
        for origin, given in one.sets.items()
    }
    if options.names is not None:
        names = dict(zip(ORIGINS, options.names, strict=True))
    if names["original"] == names["replication"]:
        names = _with_folders(one, names)
    if names["original"] == names["replication"]:
        names = {origin: f"{name} ({origin})" for origin, name in names.items()}
    source = None if options.source is None else names[options.source]
    return Pair(
        options.pair, names["original"], names["replication"], source, bool(options.paired),
        bool(options.groups_shared),
    )  # fmt: skip


def _with_folders(one: GivenModel, names: Mapping[str, str]) -> dict[str, str]:
    """Add the names of the files' folders, where there are files."""
    paths = {origin: given.path for origin, given in one.sets.items()}
    return {
        origin: name if (path := paths[origin]) is None else f"{path.resolve().parent.name}/{name}"
        for origin, name in names.items()
    }


def _model_name(one: GivenModel, read: Mapping[str, Predictions], options: PairOptions) -> str:
    told = [read[origin].metadata.get("model") for origin in ("original", "replication")]
    return checked_model_name(one.name or options.model or told[0] or told[1] or UNNAMED)


def _check_distinct(names: Sequence[str]) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"two models have the name '{twice[0]}'", remedy="Give each its own")


def _blocks(first: Comparison, models: Sequence[GivenModel], layout: Layout) -> Blocks | None:
    """Return what belongs together, according to the pair and the columns `group` of all models."""
    known = {}
    for origin in ORIGINS:
        given, index = [one.sets[origin] for one in models], getattr(first, origin).index
        read = (one.groups(index, layout) for one in given)
        known[origin] = groups_of_models(read, [one.place for one in given])
    return blocks_of_pair(first, known)


def input_warnings(known: ComparedModels) -> list[str]:
    """Say what looks wrong about predictions.

    Parameters
    ----------
    known : ComparedModels

    Returns
    -------
    list of str
        Sentences; of several models, each begins with the model's name.
    """
    several = len(known.comparisons) > 1
    return [
        f"{comparison.model}: {text}" if several else text
        for comparison in known.comparisons
        for text in suspicions_of(comparison)
    ]


def unmatched_warning(share: float, criterion: Criterion) -> str:
    """Return a warning if most targets are unmatched, else an empty text.

    Parameters
    ----------
    share : float
        Mean share of unmatched targets.
    criterion : Criterion
    """
    if share == 1:
        return (
            f"no target was matched in any run by {criterion.description}: matched accuracies are "
            "NaN (undefined)"
        )
    if share > MANY_UNMATCHED:
        return (
            f"{100 * share:.1f} % of the targets are unmatched by {criterion.description}: matched "
            "accuracies are those of a minority"
        )
    return ""
