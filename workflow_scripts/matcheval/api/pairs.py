"""The predictions of one model or many on two sets, as a caller gives them, read and checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from matcheval.datasets.suites import Pair
from matcheval.downloads.hub import local_file
from matcheval.errors import ErrorCollector, InputError, check_known, listed
from matcheval.io.terminal import tracked
from matcheval.io.text_tables import counted
from matcheval.names import MAX_NAME_LENGTH, MODEL, ORIGINS, Origin, is_name
from matcheval.predictions import formats, inputs
from matcheval.predictions.datapoints import Alignment, shared_datapoints
from matcheval.predictions.files import LABELS_FILE, read_predictions
from matcheval.predictions.formats import InMemory
from matcheval.predictions.inputs import Models, holds_several, source_of
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import Predictions
from matcheval.predictions.suspicions import check_truth
from matcheval.protocol.comparisons import MANY_UNMATCHED, Comparison, suspicions_of
from matcheval.protocol.criteria import MAX_SEEDS, Criterion, check_epsilon, epsilon_warnings

# What matches is imported once files are read, which are often refused.
if TYPE_CHECKING:
    from matcheval.protocol.compared_models import ComparedModels
    from matcheval.protocol.settings import MatchingMethod

UNNAMED = "model"  # the name of a model that neither predictions nor arguments name
_MAX_SHOWN = 5  # names in a message
_MIN_ROWS = 20  # labels of fewer rows may agree by chance


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
        """Raise an error for an invalid setting; flags and the model's name are not checked."""
        if not inputs.is_number(self.epsilon):
            remedy = "Give a number, usually 0.005"
            raise InputError(f"epsilon is {self.epsilon!r:.60}", remedy=remedy)
        check_epsilon(float(self.epsilon))
        inputs.check_whole("seeds", self.n_seeds, 1, MAX_SEEDS)
        check_known("criterion", self._criterion_names, [*map(str, Criterion)])
        if not self._criterion_names:
            raise InputError("no criterion", remedy=f"Known: {', '.join(Criterion)}")
        if not isinstance(self.pair, str) or not is_name(self.pair):
            remedy = "Use letters, digits, '.', '_' and '-'"
            raise InputError(f"pair {self.pair!a:.100} is not a valid name", remedy=remedy)
        if self.source not in (None, *ORIGINS):
            remedy = "Give 'original' or 'replication', or leave it out for the larger set"
            raise InputError(f"source is {self.source!r:.60}", remedy=remedy)
        if self.names is not None:
            check_names(self.names)

    @property
    def _criterion_names(self) -> list[str]:
        return [self.criteria] if isinstance(self.criteria, str) else [*self.criteria]

    @property
    def methods(self) -> "dict[str, MatchingMethod]":
        """The matching method for each criterion, by the criterion's name."""
        from matcheval.protocol.settings import MatchingMethod

        epsilon = float(self.epsilon)
        return {
            name: MatchingMethod(criterion=Criterion(name), epsilon=epsilon)
            for name in dict.fromkeys(self._criterion_names)
        }


def check_names(names: object) -> None:
    """Raise an error unless the names of both sets differ and can be printed."""
    is_pair = isinstance(names, tuple | list) and len(names) == 2 and names[0] != names[1]
    if not is_pair or not all(map(_is_valid_name, names)):  # type: ignore[call-overload]
        remedy = "Give the names of the two sets, such as ('a', 'b')"
        raise InputError(f"names is {names!a:.100}", remedy=remedy)


def _is_valid_name(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and 0 < len(name) <= MAX_NAME_LENGTH


def checked_model_name(model: str) -> str:
    """Return a model's name unchanged; raise an error if it is too long or not printable."""
    if not _is_valid_name(model):
        raise InputError(
            f"the name of the model, {model!a:.100}, is not printable or too long",
            remedy=f"Give the model a name of up to {MAX_NAME_LENGTH} characters",
        )
    return model


@dataclass(frozen=True, eq=False)
class ModelInputs:
    """The predictions of one model on both sets; its name is empty if it is not known."""

    name: str
    original: Path | InMemory
    replication: Path | InMemory
    set_names: tuple[str, str] | None = None

    @property
    def sets(self) -> dict[str, Path | InMemory]:
        """The predictions by origin, `original` and `replication`."""
        return {"original": self.original, "replication": self.replication}


def inputs_by_model(original: Models, replication: Models) -> tuple[list[ModelInputs], list[str]]:
    """Group a caller's predictions by model; also return warnings of models left out."""
    both = (original, replication)
    if all(isinstance(data, str | Path) for data in both):
        return _models_of_files(str(original), str(replication))
    if not any(map(holds_several, both)):
        old, new = source_of(original, "original"), source_of(replication, "replication")
        return [ModelInputs("", old, new)], []
    if not (holds_several(original) and holds_several(replication)):
        raise InputError(
            "one set has a model's name with its predictions, the other has none",
            remedy="Give both as {name: predictions}, or both as predictions of one model",
        )
    shared = original.keys() & replication.keys()
    if alone := [name for name in {**original, **replication} if name not in shared]:
        raise InputError(
            f"{counted(len(alone), 'model')} with predictions on one set only: "
            f"{listed(alone, _MAX_SHOWN)}",
            remedy="Give the predictions of every model on both sets",
        )
    return [
        ModelInputs(
            str(name),
            source_of(original[name], f"original of {name}"),
            source_of(replication[name], f"replication of {name}"),
        )
        for name in original
    ], []


def _models_of_files(original: str, replication: str) -> tuple[list[ModelInputs], list[str]]:
    """Find the models whose files match patterns with `{model}`; without any, take two files."""
    if not any(MODEL in pattern for pattern in (original, replication)):
        return [ModelInputs("", local_file(original), local_file(replication))], []
    old, new = formats.files_by_model(original), formats.files_by_model(replication)
    both, alone = sorted(old.keys() & new.keys()), sorted(old.keys() ^ new.keys())
    if not both:
        pattern, files = (original, old) if not old else (replication, new)
        why = "there are no files of this name" if not files else "no model has files on both sets"
        raise InputError(why, file=pattern, remedy="Look at the folder, and at the pattern")
    n = len(both) + len(alone)
    left_out = (
        f"{len(alone)} of {n} models are left out, without files on both sets: "
        f"{listed(alone, _MAX_SHOWN)}"
    )
    names = formats.set_names(original, replication)
    models = [ModelInputs(model, old[model], new[model], names) for model in both]
    return models, [left_out] if alone else []


def all_sources(models: Sequence[ModelInputs]) -> list[Path | InMemory]:
    """List every model's two prediction sources: a file or data in memory for each set."""
    return [source for model in models for source in model.sets.values()]


def read_pair(
    original: Models, replication: Models, options: PairOptions,
    columns: Mapping[str, str] | None, classes: int | str | Sequence[str] | None,
    first_label: int, labels_are_true: bool, *, progress: bool = False,
) -> "ComparedModels":  # fmt: skip
    """Read the predictions of all models on both sets of a pair; an error names all bad ones."""
    models, left_out = inputs_by_model(original, replication)
    sources = all_sources(models)
    layout = inputs.layout_of(sources, columns, classes, first_label, labels_are_true)
    problems, notes = ErrorCollector(), dict[str, None]()
    warnings = dict.fromkeys([*left_out, *epsilon_warnings(options.epsilon)])
    is_moved = False
    alignment = Alignment()
    alignments = {o: alignment if options.paired else Alignment() for o in ORIGINS}
    read: dict[str, dict[str, Predictions]] = {origin: {} for origin in ORIGINS}
    pair: Pair | None = None
    for model in tracked(models, "reading predictions", progress=progress):
        with problems.collected():
            both = {o: read_predictions(s, layout) for o, s in model.sets.items()}
            pair = pair or _make_pair(model, both, options)
            names = [both[origin].metadata.get("model") for origin in ORIGINS]
            name = model.name or options.model or names[0] or names[1] or UNNAMED
            if checked_model_name(name) in read["original"]:
                raise InputError(f"two models have the name '{name}'", remedy="Give each its own")
            Comparison(name, pair, *both.values())  # which checks that both are of one model
            if not options.paired and _are_of_same_images(*both.values()):
                warnings[_warning_of_same_images(layout)] = None
            for origin in ORIGINS:
                placed = alignments[origin].place(both[origin], model.sets[origin])
                notes |= dict.fromkeys(notes_of(pair.datasets[origin], placed))
                is_moved |= placed.index is not both[origin].index
                read[origin][name] = replace(placed, notes=())
    problems.raise_any()
    assert pair is not None
    predictions = [placed for by_model in read.values() for placed in by_model.values()]
    right = [placed.correct for placed in predictions]
    warnings |= dict.fromkeys(check_truth(right, layout, models[0].original))
    if not options.paired:
        _check_labels_file(predictions, layout)
    from matcheval.protocol.compared_models import ComparedModels, PredictionFile
    from matcheval.protocol.comparisons import Groups, blocks_of_pair, groups_of_models

    read, rows_left_out = _keep_shared(read, pair, paired=options.paired)
    groups: Mapping[str, Groups] = {
        o: groups_of_models(read[o].values(), [model.sets[o] for model in models]) for o in ORIGINS
    }
    comparisons = tuple(
        Comparison(name, pair, *(_slim(read[o][name], keep_keys=len(models) == 1) for o in ORIGINS))
        for name in read["original"]
    )
    files = tuple(
        {o: PredictionFile(path, layout) for o, path in m.sets.items() if isinstance(path, Path)}
        for m in models
    )
    has_files = not (rows_left_out or is_moved) and all(len(by_origin) == 2 for by_origin in files)
    compared = ComparedModels(
        pair, comparisons, options.methods, tuple(range(options.n_seeds)),
        files=files if has_files else (), notes=(*layout.notes, *notes),
        warnings=(*warnings, *rows_left_out), layout=layout,
    )  # fmt: skip
    return replace(compared, blocks=blocks_of_pair(comparisons[0], groups))


def _slim(predictions: Predictions, *, keep_keys: bool) -> Predictions:
    """Drop what is not needed any more: groups and, unless `keep_keys`, the rows' names."""
    keys = predictions.keys if keep_keys else None
    return replace(predictions, groups=None, copies=None, keys=keys)


def notes_of(name: str, predictions: Predictions) -> list[str]:
    """Return a line, `name: ...`, on what was recognised in a file, if anything was."""
    return [f"{name}: {', '.join(predictions.notes)}"] if predictions.notes else []


def _check_labels_file(predictions: Sequence[Predictions], layout: Layout) -> None:
    """Refuse a single file of labels that was taken for the labels of both sets."""
    files = {placed.metadata.get(LABELS_FILE) for placed in predictions}
    if None in files or len(files) > 1 or layout.labels_file:
        return
    raise InputError(
        "was taken for the true classes of both sets", file=files.pop(),
        remedy="Give each set a file of its own, named like its predictions: new_labels.npy "
        "beside new_logits.npy; or say that both sets show the same images, row by row: "
        + ("--paired" if layout.caller == "command" else "paired=True"),
    )  # fmt: skip


def _warning_of_same_images(layout: Layout) -> str:
    """Return a warning that both sets seem to show the same images, and what to use instead."""
    compare_models, option = "`me.compare_models`", "paired=True, analyses=['paired_gaps']"
    if layout.caller == "command":
        compare_models = "`matched-eval compare-models`"
        option = "--paired --analyses paired_gaps"
    return (
        "both files have the same labels row by row, as of the same images; `compare` is for one "
        f"model on two sets. {compare_models} compares two models on one set; {option}, two "
        "versions of the images"
    )


def _are_of_same_images(original: Predictions, replication: Predictions) -> bool:
    """Whether labels (and names) agree row by row, unsorted by class, but predictions differ."""
    labels = original.label
    if len(labels) < _MIN_ROWS or not np.array_equal(labels, replication.label):
        return False
    keys, others = original.keys, replication.keys
    if keys is not None and others is not None and not np.array_equal(keys, others):
        return False
    is_same_file = np.array_equal(original.prediction, replication.prediction)
    return bool((np.diff(labels.astype(np.int32)) < 0).any()) and not is_same_file


def _keep_shared(
    read: Mapping[str, dict[str, Predictions]], pair: Pair, *, paired: bool
) -> tuple[dict[str, dict[str, Predictions]], list[str]]:
    """Keep the datapoints of all models, if paired of both sets; also say which are left out."""
    kept, warnings = {origin: dict[str, Predictions]() for origin in read}, list[str]()
    for origins in [list(read)] if paired else [[origin] for origin in read]:
        names = {f"{m} on {pair.datasets[o]}": (o, m) for o in origins for m in read[o]}
        shared, texts = shared_datapoints({key: read[o][m] for key, (o, m) in names.items()})
        warnings += texts
        for key, (origin, model) in names.items():
            kept[origin][model] = shared[key]
    return kept, warnings


def _make_pair(model: ModelInputs, read: Mapping[str, Predictions], options: PairOptions) -> Pair:
    """Make the pair of sets, named by options, predictions or files; make names distinct."""
    by_file = model.set_names or [set_name(file, model.name) for file in model.sets.values()]
    names: dict[str, str] = {
        o: read[o].metadata.get("dataset", name) for o, name in zip(ORIGINS, by_file, strict=True)
    }
    if options.names is not None:
        names = dict(zip(ORIGINS, options.names, strict=True))
    distinct = distinct_names([*names.values()], [*model.sets.values()], ORIGINS)
    names = dict(zip(ORIGINS, distinct, strict=True))
    source_name = None if options.source is None else names[options.source]
    return Pair(
        options.pair, names["original"], names["replication"], source_name, bool(options.paired),
        bool(options.groups_shared),
    )  # fmt: skip


def distinct_names(
    names: Sequence[str], sources: Sequence[Path | InMemory], roles: tuple[str, str]
) -> tuple[str, str]:
    """Make two names differ, if they do not, by adding the folders of files, or roles."""
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
    """Return a set's name by its file or, in memory, by the argument that it was given as."""
    if isinstance(source, InMemory):
        return source.name.removesuffix(f" of {model}")
    return formats.stem_of(source) or source.resolve().parent.name


def warnings_of(compared: "ComparedModels", shares: Mapping[Criterion, float]) -> list[str]:
    """Return what looks wrong, as sentences; `shares` are mean shares of unmatched targets."""
    is_one = len(compared.comparisons) == 1
    warnings = [
        *compared.warnings,
        *(
            text if is_one else f"{comparison.model}: {text}"
            for comparison in compared.comparisons
            for text in suspicions_of(comparison)
        ),
    ]
    for criterion, share in shares.items():
        if share == 1:
            warnings.append(
                f"no target was matched in any run by {criterion.description}: matched accuracies "
                "are NaN (undefined)"
            )
        elif share > MANY_UNMATCHED:
            warnings.append(
                f"{100 * share:.1f} % of the targets are unmatched by {criterion.description}: "
                "matched accuracies are those of a minority"
            )
    return warnings
