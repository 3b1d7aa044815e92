"""Which figures of accuracy prediction a study has, how they are written, and those of outputs."""

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction import plots
from matcheval.accuracy_prediction.errors import CORRELATIONS, ERRORS
from matcheval.accuracy_prediction.predicting import CALIBRATED, DIRECT, LEAVE_ONE_OUT, PREDICTED
from matcheval.accuracy_prediction.scores import AnyScore
from matcheval.accuracy_prediction.scores.features import Features, checked_features
from matcheval.accuracy_prediction.scores.outputs import Floats, Outputs
from matcheval.accuracy_prediction.scoring import SuiteOutputs, SuiteReader
from matcheval.accuracy_prediction.settings import AccuracyPredictionSettings
from matcheval.datasets.suites import Suite
from matcheval.errors import InputError, configuration_error, unknown_name_error
from matcheval.figures import style
from matcheval.figures.forms import Series, drawing, panels

KINDS: Mapping[str, Callable[..., "style.Figure"]] = {
    "errors": plots.plot_errors,
    "scores": plots.plot_scores,
    "predictions": plots.plot_predictions,
    "errors_by_accuracy": plots.plot_errors_by_accuracy,
    "two_methods": plots.plot_two_methods,
    "correlations": plots.plot_correlations,
    "rankings": plots.plot_rankings,
    "models": plots.plot_models,
    "sizes": plots.plot_sizes,
    "missing_classes": plots.plot_missing_classes,
}
Procedure = tuple[str, str, str]  # of `PROCEDURE`
ChosenFigure = tuple[str, dict[str, Any]]  # kind and options

CAPTION = "Suite **{{ snakemake.wildcards.suite }}**: {{ snakemake.wildcards.figure }}."


def figures_of_suite(
    settings: AccuracyPredictionSettings, suite: Suite, chosen: Sequence[AnyScore]
) -> dict[str, ChosenFigure]:
    """Return kind and options of each figure of a suite, by name.

    Those of `KINDS` are drawn from its tables, the others from outputs of models.
    """
    figures: dict[str, ChosenFigure] = {"scores": ("scores", {}), "models": ("models", {})}
    for model in settings.figure_models:
        for kind in ("scores", "correlations"):
            figures[f"{kind}-of-{model}"] = (kind, {"model": model})
    kinds = ["errors", "predictions", "errors_by_accuracy"]
    if len({(m.group, m.subgroup) for m in suite.members}) > 1:
        kinds.append("rankings")
    for name, procedure in procedures(settings, suite.name).items():
        for kind in kinds:
            figures[f"{kind}-{name}"] = (kind, {"procedure": procedure})
        for model in settings.figure_models:
            options: dict[str, Any] = {"procedure": procedure, "model": model}
            figures[f"predictions-{name}-of-{model}"] = ("predictions", options)
        # AC beside DoC; left out one by one, both predict the same.
        second = {CALIBRATED: "doc", DIRECT: "doc_feat"}.get(procedure[0], "")
        if {"ac", second} <= {score.name for score in chosen}:
            for by in ("dataset", "subgroup", "model"):
                options = {"first": "ac", "second": second, "by": by, "procedure": procedure}
                figures[f"ac-and-{second}-by-{by}-{name}"] = ("two_methods", options)
    if settings.test_sizes:
        figures["sizes"] = ("sizes", {})
    if settings.missing_classes != "none":
        figures["missing_classes"] = ("missing_classes", {})
    for histogram in settings.suites[suite.name].histograms:
        name = f"confidences-of-{histogram.model}-on-{histogram.dataset}"
        figures[name] = ("confidences", histogram.model_dump(mode="json"))
    for embedding in settings.suites[suite.name].embeddings:
        group = embedding.group or "all"
        parts = ["features-of", embedding.model, embedding.class_name, group, "by", embedding.by]
        figures[_file_name(parts, figures)] = ("features", embedding.model_dump(mode="json"))
    return figures


def procedures(settings: AccuracyPredictionSettings, suite: str) -> dict[str, Procedure]:
    """Return the procedures by which accuracies on a suite are predicted, by name for files."""
    by_name: dict[str, Procedure] = {}
    if settings.leave_one_out:
        by_name["leave-one-out"] = (LEAVE_ONE_OUT, "linear", "")
    for on in dict.fromkeys(on for on, _ in settings.suites[suite].regressions):
        for regressor in settings.regressors:
            parts = ["calibrated", *on, *([regressor] if regressor != "linear" else [])]
            by_name[_file_name(parts, by_name)] = (CALIBRATED, regressor, "+".join(on))
    return by_name or {"direct": (DIRECT, "", "")}


def _file_name(parts: Iterable[str], taken: Collection[str]) -> str:
    """Join parts into a name for files, with a number at the end if the name is taken."""
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(parts))
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)


def plot_tables(
    *, kind: str, options: Mapping[str, Any], excluded_from_mean: Sequence[str], predicted: Path,
    errors: Path, correlations: Path, outputs: Sequence[Path],
) -> None:  # fmt: skip
    """Save a figure of one of `KINDS`, drawn from the tables of a suite."""
    results = plots.Results(
        PREDICTED.read(predicted).to_pandas(),
        ERRORS.read(errors).to_pandas(),
        CORRELATIONS.read(correlations).to_pandas(),
        tuple(excluded_from_mean),
    )
    style.save_figure(KINDS[kind](results, **options), *outputs)


# --- Figures of a model's confidences and features, and of predictions on single sets

MAX_IMAGES = 500  # of a set
BINS = 20
PERPLEXITY, SEED = 30.0, 0
MIN_IMAGES = 5
BASE = "base"


def plot_confidences(model: str, outputs: Mapping[str, Outputs]) -> "style.Figure":
    """Draw a histogram of a model's confidences on each set: P1, Figure 1, left."""
    edges, height = np.linspace(0, 100, BINS + 1), 1.35 * len(outputs) + 0.75
    with drawing(style.COLUMN_WIDTH, height, "", f"Model {model}.") as figure:
        panels = figure.subplots(len(outputs), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
        for axes, (name, of_set), color in zip(panels, outputs.items(), plots.COLORS, strict=False):
            percent, accuracy = 100 * of_set.confidences, 100 * of_set.accuracy
            share = 100 * np.histogram(percent, edges)[0] / max(len(of_set), 1)
            axes.stairs(share, edges, fill=True, color=color, alpha=0.5)
            mean = percent.mean()
            axes.axvline(mean, color="k", label=f"mean confidence (AC) {mean:.1f} %")
            if np.isfinite(accuracy):
                dashes = (0, (3, 1.5))
                label = f"accuracy {accuracy:.1f} %"
                axes.axvline(accuracy, color="k", linestyle=dashes, label=label)
            axes.set_title(f"{style.shortened(name)}, n = {len(of_set):,}")
            axes.legend(loc="upper left")
            axes.set_ylabel("Datapoints (%)")
        panels[-1].set_xlabel("Confidence (%)")
        panels[-1].set_xlim(0, 100)
    return figure


def embed(features: Features) -> Floats:
    """Embed features in two dimensions by t-SNE, which starts from their principal components."""
    from sklearn.manifold import TSNE

    if len(features) < MIN_IMAGES:
        raise configuration_error(
            f"{len(features)} images of the class on these sets, fewer than {MIN_IMAGES}",
            field="accuracy_prediction.suites.<suite>.embeddings",
        )
    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    return TSNE(perplexity=perplexity, init="pca", random_state=SEED).fit_transform(
        np.asarray(features, np.float64)
    )


def plot_features(model: str, class_name: str, features: Mapping[str, Features]) -> "style.Figure":
    """Draw an embedding of the features of one class, a colour per label of sets: P2, Figure 8."""
    parts = {label: part for label, part in features.items() if len(part)}
    total = sum(map(len, parts.values()))
    points = embed(np.concatenate(list(parts.values() or features.values())))
    looks = plots.colors_and_markers(label for label in parts if label != BASE)
    note = (
        f"Features of {total:,} images of class {class_name}; model {model}. Distances between "
        "groups have no scale."
    )
    with drawing(4.6, 3.6, "", note) as figure:
        axes, start = figure.add_subplot(), 0
        for label, part in parts.items():
            xy, start = points[start : start + len(part)], start + len(part)
            color, marker = looks.get(label, (plots.GREY, "o"))
            axes.plot(
                *xy.T, marker, color=color, markersize=1.5 if total > 1000 else 2.5, alpha=0.7,
                markeredgewidth=0, label=label or "no name", rasterized=total > 1000,
            )  # fmt: skip
        axes.set(xticks=[], yticks=[], xlabel="t-SNE 1", ylabel="t-SNE 2")
        style.enlarge_markers(figure.legend(loc="outside right upper"))
    return figure


_COLUMNS = 3  # panels in a row
_NOTE = (
    "Points: predicted accuracies, with 95 % intervals over datapoints. Dashed: accuracy on the "
    "base. Solid line: true accuracy, where it is known."
)


def plot_estimates(table: pd.DataFrame) -> "style.Figure":
    """Draw the accuracies that all methods predict, a panel per target."""
    if table.empty:
        raise InputError("no predictions to plot", field="target")
    targets = list(dict.fromkeys(table["target"]))
    n_methods = int(table.groupby("target").size().max())
    n_rows, n_columns = style.grid_shape(len(targets), _COLUMNS)
    width, height = 1.25 + 1.85 * max(n_columns, 1.1), n_rows * (0.17 * n_methods + 0.85) + 0.3
    with drawing(width, height, "", _NOTE) as figure:
        axes_of = panels(figure, len(targets), _COLUMNS, "Accuracy (%)")
        for axes, target in zip(axes_of, targets, strict=True):
            rows = table[table["target"] == target]
            plots.draw_methods(axes, rows, Series("predicted", style.ORIGINAL), markersize=3)
            axes.axvline(100 * rows["accuracy_base"].iloc[0], **style.REFERENCE)
            if np.isfinite(true := 100 * rows["accuracy"].iloc[0]):
                axes.axvline(true, color=style.FITTED.color, linewidth=0.9)
            axes.set_title(style.shortened(target, 28))
    return figure


def plot_outputs(
    *, kind: str, options: Mapping[str, Any], stored: SuiteOutputs, members: Sequence[str],
    outputs: Sequence[Path],
) -> None:  # fmt: skip
    """Save a figure of the confidences or features of one model on a suite."""
    suite, base, model = stored.suite, stored.base, options["model"]
    reader = SuiteReader(stored, stored.files.reader(members, model))
    if kind == "confidences":
        (member,) = (m for m in suite.members if m.dataset == options["dataset"])
        by_name = dict(zip((base, member.dataset), reader.sides(member), strict=True))
        style.save_figure(plot_confidences(model, by_name), *outputs)
        return
    class_name = options["class_name"]
    if class_name not in reader.classes:
        raise unknown_name_error("class", class_name, reader.classes, file="configuration")
    label = list(reader.classes).index(class_name)
    parts: dict[str, list[Features]] = {BASE: [_sample_features(reader.base, label, base)]}
    for member in suite.members:
        if options["group"] in (None, member.group):
            name, of_set = getattr(member, options["by"]), reader.read(member.dataset)
            parts.setdefault(name, []).append(_sample_features(of_set, label, member.dataset))
    features = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    style.save_figure(plot_features(model, class_name, features), *outputs)


def _sample_features(outputs: Outputs, label: int, dataset: str) -> Features:
    """Return the features of at most 500 images of a class; the dataset's name is the seed."""
    features = checked_features(outputs)
    if outputs.labels is None:
        return features[:0]
    own = np.flatnonzero((outputs.label_rows == label).any(axis=1))
    drawn = np.random.default_rng(crc32(dataset.encode())).permutation(own)[:MAX_IMAGES]
    return features[np.sort(drawn)]
