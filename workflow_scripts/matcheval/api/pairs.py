"""The predictions of one model or many on two sets, as a caller gives them, read and checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from matcheval.api.inputs import Models, check_whole, is_number, is_of_several, source_of
from matcheval.datasets.suites import Pair
from matcheval.downloads.hub import local_file
from matcheval.errors import ErrorCollector, InputError, check_known
from matcheval.io.terminal import each
from matcheval.io.text_tables import counted
from matcheval.names import MAX_NAME_LENGTH, MODEL, is_name
from matcheval.predictions.datapoints import Alignment, shared_datapoints
from matcheval.predictions.files import LABELS_FILE, read_predictions
from matcheval.predictions.formats import (
    PATTERN_REMEDY,
    InMemory,
    files_by_model,
    set_names,
    stem_of,
)
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import Predictions
from matcheval.predictions.suspicions import check_truth
from matcheval.protocol.comparisons import MANY_UNMATCHED, Comparison, suspicions_of
from matcheval.protocol.criteria import MAX_SEEDS, Criterion, check_epsilon

# What matches is imported once files are read, which are often refused.
if TYPE_CHECKING:
    from matcheval.protocol.compared_models import ComparedModels
    from matcheval.protocol.settings import MatchingMethod

Origin = Literal["original", "replication"]
ORIGINS: tuple[Origin, Origin] = ("original", "replication")
UNNAMED = "model"  # the name of a model that neither predictions nor arguments name
_MAX_SHOWN = 5  # names in a message
_MIN_ROWS = 20  # labels of fewer rows may agree by chance
_SAME_IMAGES = tuple(
    "both files have the same labels row by row, as of the same images; `compare` is for one model "
    f"on two sets. {other} compares two models on one set; {option}, two versions of the images"
    for other, option in (
        ("`me.compare_models`", "paired=True, analyses=['paired_gaps']"),
        ("`matched-eval compare-models`", "--paired --analyses paired_gaps"),
    )
)


@dataclass(frozen=True)
class PairOptions:
    """Settings of a comparison of two sets; invalid ones are refused on creation.

    If `source` is None, matches are sought in the larger set; if `names` is None, the sets have the
    names in the predictions.
    """

    criteria: str | Sequence[str]
    epsilon: float
    n_seeds: int
    pair: str = "pair"
    model: str = ""
    source: Origin | None = None
    paired: bool = False
    groups_shared: bool = False
    names: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        """Check all but flags."""
        if not is_number(self.epsilon):
            remedy = "Give a number, usually 0.005"
            raise InputError(f"epsilon is {self.epsilon!r:.60}", remedy=remedy)
        check_epsilon(float(self.epsilon))
        check_whole("seeds", self.n_seeds, 1, MAX_SEEDS)
        known = [criterion.value for criterion in Criterion]
        check_known("criterion", self._criteria, known)
        if not self._criteria:
            raise InputError("no criterion", remedy=f"Known: {', '.join(known)}")
        if not isinstance(self.pair, str) or not is_name(self.pair):
            remedy = "Use letters, digits, '.', '_' and '-'"
            raise InputError(f"pair {self.pair!a:.100} is not a valid name", remedy=remedy)
        if self.source not in (None, *ORIGINS):
            remedy = "Give 'original' or 'replication', or leave it out for the larger set"
            raise InputError(f"source is {self.source!r:.60}", remedy=remedy)
        if self.names is not None:
            check_names(self.names)

    @property
    def _criteria(self) -> list[str]:
        return [self.criteria] if isinstance(self.criteria, str) else [*self.criteria]

    @property
    def methods(self) -> "dict[str, MatchingMethod]":
        """How predictions are matched, by the criterion's name, each once."""
        from matcheval.protocol.settings import MatchingMethod

        epsilon = float(self.epsilon)
        return {
            name: MatchingMethod(criterion=Criterion(name), epsilon=epsilon)
            for name in dict.fromkeys(self._criteria)
        }


def check_names(names: object) -> None:
    """Check that the names of original and replication differ and can be printed."""
    is_pair = isinstance(names, tuple | list) and len(names) == 2 and names[0] != names[1]
    if not is_pair or not all(map(_is_printable, names)):  # type: ignore[call-overload]
        remedy = "Give the names of the two sets, such as ('a', 'b')"
        raise InputError(f"names is {names!a:.100}", remedy=remedy)


def _is_printable(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and 0 < len(name) <= MAX_NAME_LENGTH


def checked_model_name(model: str) -> str:
    """Return the name of a model, if it can be printed."""
    if not _is_printable(model):
        raise InputError(
            f"the name of the model, {model!a:.100}, is not printable or too long",
            remedy=f"Give the model a name of up to {MAX_NAME_LENGTH} characters",
        )
    return model


@dataclass(frozen=True, eq=False)
class GivenModel:
    """The predictions of one model on two sets; its name is empty if nobody tells it."""

    name: str
    original: Path | InMemory
    replication: Path | InMemory
    set_names: tuple[str, str] | None = None

    @property
    def sets(self) -> dict[str, Path | InMemory]:
        """Both by origin."""
        return {"original": self.original, "replication": self.replication}


def given_models(original: Models, replication: Models) -> tuple[list[GivenModel], list[str]]:
    """Return the models in what a caller gave, and sentences on those that are left out."""
    both = (original, replication)
    if all(isinstance(one, str | Path) for one in both):
        return by_pattern(str(original), str(replication))
    if not any(is_of_several(one) for one in both):
        sources = [source_of(one, origin) for one, origin in zip(both, ORIGINS, strict=True)]
        return [GivenModel("", sources[0], sources[1])], []
    if not (is_of_several(original) and is_of_several(replication)):
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
            source_of(original[name], f"original of {name}"),
            source_of(replication[name], f"replication of {name}"),
        )
        for name in original
    ], []


def by_pattern(original: str, replication: str) -> tuple[list[GivenModel], list[str]]:
    """Return models by patterns with `{model}`, or the one of two files, and what is left out.

    Models are sorted by name; those with a file on one set only are told in sentences.
    """
    counts = {pattern.count(MODEL) for pattern in (original, replication)}
    if counts == {0}:
        return [GivenModel("", local_file(original), local_file(replication))], []
    if counts != {1}:
        problem = f"original {original} and replication {replication}: each must hold {MODEL} once"
        raise InputError(problem, remedy=PATTERN_REMEDY)
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
    if (more := len(alone) - _MAX_SHOWN) > 0:
        shares = f"{len(both)} of {len(alone) + len(both)} are compared"
        left_out.append(f"{more} more models are left out, too, so that {shares}")
    names = set_names(original, replication)
    return [GivenModel(model, old[model], new[model], names) for model in both], left_out


def all_sources(models: Sequence[GivenModel]) -> list[Path | InMemory]:
    """Return the predictions of all models on both sets."""
    return [source for model in models for source in model.sets.values()]


def read_compared(
    models: Sequence[GivenModel],
    options: PairOptions,
    layout: Layout,
    n_classes: int | None = None,
    *,
    progress: bool = False,
) -> "ComparedModels":
    """Read the predictions of all models on both sets of a pair; an error names all bad ones."""
    problems, told, noticed = ErrorCollector(), dict[str, None](), dict[str, None]()
    moved = False
    at = Alignment()
    alignments: dict[str, Alignment] = {o: at if options.paired else Alignment() for o in ORIGINS}
    read: dict[str, dict[str, Predictions]] = {origin: {} for origin in ORIGINS}
    pair: Pair | None = None
    for one in each(models, "reading predictions", progress=progress):
        with problems.collected():
            both = {o: read_predictions(s, n_classes, layout) for o, s in one.sets.items()}
            pair = pair or _pair(one, both, options)
            names = [both[origin].metadata.get("model") for origin in ORIGINS]
            name = checked_model_name(one.name or options.model or names[0] or names[1] or UNNAMED)
            if name in read["original"]:
                raise InputError(f"two models have the name '{name}'", remedy="Give each its own")
            Comparison(name, pair, *both.values())  # which checks that both are of one model
            if not options.paired and _are_of_same_images(*both.values()):
                noticed[_SAME_IMAGES[layout.caller == "command"]] = None
            for origin, found in both.items():
                placed = alignments[origin].place(found, one.sets[origin])
                told |= dict.fromkeys(told_of(pair.datasets[origin], placed))
                moved |= placed.index is not found.index
                read[origin][name] = replace(placed, notes=())
    problems.raise_any()
    assert pair is not None
    # Commands say so when they read the layout.
    for other, name in layout.merged.items() if layout.caller == "python" else ():
        told[f"classes: '{other}' is taken for another spelling of '{name}'"] = None
    every = [found for of_set in read.values() for found in of_set.values()]
    noticed |= dict.fromkeys(check_truth(every, layout, models[0].original))
    beside = {found.metadata.get(LABELS_FILE) for found in every}
    if None not in beside and len(beside) == 1 and not options.paired and not layout.labels_file:
        raise InputError(
            "was taken for the true classes of both sets", file=beside.pop(),
            remedy="Give each set a file of its own, named like its predictions: new_labels.npy "
            "beside new_logits.npy; or say that both sets show the same images, row by row: "
            + ("--paired" if layout.caller == "command" else "paired=True"),
        )  # fmt: skip
    from matcheval.protocol.blocks import Groups, blocks_of_pair, groups_of_models
    from matcheval.protocol.compared_models import ComparedModels, PredictionFile

    read, left_out = _shared(read, pair, paired=options.paired)
    groups: Mapping[str, Groups] = {
        o: groups_of_models(read[o].values(), [one.sets[o] for one in models]) for o in ORIGINS
    }
    comparisons = tuple(
        Comparison(name, pair, *(_slim(read[o][name], named=len(models) == 1) for o in ORIGINS))
        for name in read["original"]
    )
    files = tuple(
        {o: PredictionFile(path, layout) for o, path in one.sets.items() if isinstance(path, Path)}
        for one in models
    )
    has_files = not (left_out or moved) and all(len(of_model) == len(ORIGINS) for of_model in files)
    compared = ComparedModels(
        pair, comparisons, options.methods, tuple(range(options.n_seeds)),
        files=files if has_files else (), told=tuple(told), noticed=(*noticed, *left_out),
        layout=layout,
    )  # fmt: skip
    return replace(compared, blocks=blocks_of_pair(comparisons[0], groups))


def _slim(found: Predictions, *, named: bool) -> Predictions:
    """Leave groups out, and unless they are shown, which is of a single model, names."""
    return replace(found, groups=None, copies=None, keys=found.keys if named else None)


def told_of(name: str, found: Predictions) -> list[str]:
    """Say what was recognised in a file."""
    return [f"{name}: {', '.join(found.notes)}"] if found.notes else []


def _are_of_same_images(one: Predictions, other: Predictions) -> bool:
    """Whether labels agree row by row, in an order that is none of classes, and so do keys."""
    labels = one.label
    if len(labels) < _MIN_ROWS or not np.array_equal(labels, other.label):
        return False
    if one.keys is not None and other.keys is not None and not np.array_equal(one.keys, other.keys):
        return False
    is_same_file = np.array_equal(one.prediction, other.prediction)
    return bool((np.diff(labels.astype(np.int32)) < 0).any()) and not is_same_file


def _shared(
    read: Mapping[str, dict[str, Predictions]], pair: Pair, *, paired: bool
) -> tuple[dict[str, dict[str, Predictions]], list[str]]:
    """Keep the datapoints that all models have, in both sets if these show the same images."""
    kept, told = {origin: dict[str, Predictions]() for origin in read}, list[str]()
    for origins in [list(read)] if paired else [[origin] for origin in read]:
        names = {f"{m} on {pair.datasets[o]}": (o, m) for o in origins for m in read[o]}
        found, texts = shared_datapoints({key: read[o][m] for key, (o, m) in names.items()})
        told += texts
        for key, (origin, model) in names.items():
            kept[origin][model] = found[key]
    return kept, told


def _pair(one: GivenModel, read: Mapping[str, Predictions], options: PairOptions) -> Pair:
    """Return the pair, whose sets have names that differ: with folders or roles if need be."""
    by_file = one.set_names or tuple(set_name(source, one.name) for source in one.sets.values())
    names: dict[str, str] = {
        o: read[o].metadata.get("dataset", name) for o, name in zip(ORIGINS, by_file, strict=True)
    }
    if options.names is not None:
        names = dict(zip(ORIGINS, options.names, strict=True))
    found = distinct_names([*names.values()], [*one.sets.values()], ORIGINS)
    names = dict(zip(ORIGINS, found, strict=True))
    source_name = None if options.source is None else names[options.source]
    return Pair(
        options.pair, names["original"], names["replication"], source_name, bool(options.paired),
        bool(options.groups_shared),
    )  # fmt: skip


def distinct_names(
    names: Sequence[str], sources: Sequence[Path | InMemory], roles: tuple[str, str]
) -> tuple[str, str]:
    """Make two names differ: with the folders of files, or with roles, if need be."""
    first, second = names
    if first == second:
        first, second = (
            f"{source.resolve().parent.name}/{name}" if isinstance(source, Path) else name
            for source, name in zip(sources, names, strict=True)
        )
    if first == second:
        first, second = (f"{first} ({role})" for role in roles)
    return first, second


def set_name(source: Path | InMemory, model: str) -> str:
    """Return what a set is called by its file, or by its role."""
    if isinstance(source, InMemory):
        return source.name.removesuffix(f" of {model}")
    return stem_of(source) or source.resolve().parent.name


def warnings_of(compared: "ComparedModels", shares: Mapping[Criterion, float]) -> list[str]:
    """Return what looks wrong, as sentences, given the mean shares of unmatched targets."""
    several = len(compared.comparisons) > 1
    told = [
        f"{comparison.model}: {text}" if several else text
        for comparison in compared.comparisons
        for text in suspicions_of(comparison)
    ]
    told = [*compared.noticed, *told]
    for criterion, share in shares.items():
        if share == 1:
            told.append(
                f"no target was matched in any run by {criterion.description}: matched accuracies "
                "are NaN (undefined)"
            )
        elif share > MANY_UNMATCHED:
            told.append(
                f"{100 * share:.1f} % of the targets are unmatched by {criterion.description}: "
                "matched accuracies are those of a minority"
            )
    return told
