"""From what a caller gave to checked predictions of models on a pair of sets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from matcheval.api.inputs import Given
from matcheval.api.models import ORIGINS, GivenModel, set_name
from matcheval.api.options import PairOptions, checked_model_name
from matcheval.datasets.suites import Pair
from matcheval.errors import ErrorCollector, InputError
from matcheval.io.terminal import each
from matcheval.predictions.files import contents_of
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import Predictions, check_predictions
from matcheval.protocol.blocks import Blocks, blocks_of_pair, groups_of_models
from matcheval.protocol.compared_models import ComparedModels, PredictionFile
from matcheval.protocol.comparisons import MANY_UNMATCHED, Comparison, suspicions_of
from matcheval.protocol.settings import Criterion, MatchingMethod

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
