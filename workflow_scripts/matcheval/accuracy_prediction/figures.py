"""Figures of accuracy prediction: a function per kind of figure, not per figure of a paper."""

import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.accuracy_prediction import correlation_figures, error_figures
from matcheval.accuracy_prediction.drawing import Results
from matcheval.accuracy_prediction.errors import CORRELATIONS, ERRORS
from matcheval.accuracy_prediction.gaps import GAPS
from matcheval.accuracy_prediction.predicting import CALIBRATED, DIRECT, LEAVE_ONE_OUT, PREDICTED
from matcheval.accuracy_prediction.scores import AnyScore
from matcheval.accuracy_prediction.settings import (
    AccuracyPredictionSettings,
    SuitePredictionSettings,
)
from matcheval.datasets.suites import Suite
from matcheval.figures.saving import save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS: Mapping[str, Callable[..., "Figure"]] = {
    "errors": error_figures.plot_errors,
    "scores": correlation_figures.plot_scores,
    "predictions": correlation_figures.plot_predictions,
    "errors_by_accuracy": correlation_figures.plot_errors_by_accuracy,
    "two_methods": error_figures.plot_two_methods,
    "correlations": correlation_figures.plot_correlations,
    "rankings": correlation_figures.plot_rankings,
    "models": error_figures.plot_models,
    "sizes": error_figures.plot_sizes,
    "missing_classes": error_figures.plot_missing_classes,
    "protocol": correlation_figures.plot_protocol,
}


Procedure = tuple[str, str, str]  # of `PROCEDURE`
ChosenFigure = tuple[str, dict[str, Any]]  # kind and options

_SHOWN = {  # by what the names of figures begin with
    "errors_by_accuracy": "absolute errors of predicted accuracies against accuracies, "
    "a panel per method",
    "errors": "mean absolute errors of predicted accuracies by method, a panel per group of sets",
    "scores": "scores against accuracies, a panel per method",
    "predictions": "predicted against true gaps, a panel per method",
    "ac-and-doc": "errors of AC and DoC on the same sets, side by side",
    "correlations": "Spearman's correlations of scores and accuracies, by method and group of sets",
    "rankings": "correlations of the methods' errors on every two groups of sets",
    "models": "mean errors of all models by method, and of all methods by model",
    "sizes": "errors on sets of fewer datapoints",
    "missing_classes": "errors on sets without some of the classes",
    "protocol": "matched gaps and parts of gaps against gaps, and errors of "
    "predictions against the part at equal confidence",
    "confidences": "histograms of a model's confidences on the base and on the set",
    "features": "features of one class in two dimensions",
}
CAPTION = (
    f"{{% set shown = {_SHOWN!r} -%}}\n"
    "Suite **{{ snakemake.wildcards.suite }}**\n"
    "{%- for name, text in shown.items() if snakemake.wildcards.figure.startswith(name) %}\n"
    '{{- ": " ~ text if loop.first }}\n'
    "{%- endfor %}."
)


def figures_of_tables(
    settings: AccuracyPredictionSettings, suite: Suite, chosen: Sequence[AnyScore]
) -> dict[str, ChosenFigure]:
    """Return the figures that are drawn from the tables of a suite: kind and options, by name."""
    found: dict[str, ChosenFigure] = {}

    def add(kind: str, suffix: str = "", **options: Any) -> None:
        found[kind + suffix] = kind, options

    for kind in ("scores", "correlations", "models"):
        add(kind)
    for model in settings.figure_models:
        for kind in ("scores", "correlations"):
            add(kind, f"-of-{model}", model=model)
    divided = len({(m.group, m.subgroup) for m in suite.members}) > 1
    for name, procedure in procedures(settings, suite.name).items():
        for kind in ("errors", "predictions", "errors_by_accuracy", "rankings"):
            if kind != "rankings" or divided:
                add(kind, f"-{name}", procedure=procedure)
        for model in settings.figure_models:
            add("predictions", f"-{name}-of-{model}", procedure=procedure, model=model)
        # AC beside DoC; left out one by one, both predict the same.
        second = {CALIBRATED: "doc", DIRECT: "doc_feat"}.get(procedure[0], "")
        if {"ac", second} <= {score.name for score in chosen}:
            for by in ("dataset", "subgroup", "model"):
                options = {"first": "ac", "second": second, "by": by, "procedure": procedure}
                found[f"ac-and-{second}-by-{by}-{name}"] = ("two_methods", options)
    if settings.test_sizes:
        add("sizes")
    if settings.missing_classes != "none":
        add("missing_classes")
    if settings.matching:
        add("protocol")
    return found


def procedures(settings: AccuracyPredictionSettings, suite: str) -> dict[str, Procedure]:
    """Return the procedures of predicting on a suite, by a name for files."""
    found: dict[str, Procedure] = {}
    if settings.leave_one_out:
        found["leave-one-out"] = (LEAVE_ONE_OUT, "linear", "")
    for on in dict.fromkeys(on for on, _ in settings.suites[suite].regressions):
        for regressor in settings.regressors:
            parts = ["calibrated", *on, *([regressor] if regressor != "linear" else [])]
            found[_free(_file_name(parts), found)] = (CALIBRATED, regressor, "+".join(on))
    return found or {"direct": (DIRECT, "", "")}


def figures_of_outputs(settings: SuitePredictionSettings) -> dict[str, ChosenFigure]:
    """Return the figures that are drawn from outputs of models: kind and options, by name."""
    found: dict[str, ChosenFigure] = {}
    for one in settings.histograms:
        name = f"confidences-of-{one.model}-on-{one.dataset}"
        found[name] = ("confidences", one.model_dump(mode="json"))
    for embedding in settings.embeddings:
        parts = [embedding.model, embedding.class_name, embedding.group or "all"]
        name = f"features-of-{_file_name(parts)}-by-{embedding.by}"
        found[_free(name, found)] = ("features", embedding.model_dump(mode="json"))
    return found


def _file_name(parts: Sequence[str]) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(parts))


def _free(name: str, taken: Collection[str]) -> str:
    """Return a name, with a number if another figure has it."""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(one for one in names if one not in taken)


def plot_tables(
    *, kind: str, options: Mapping[str, Any], uncounted: Sequence[str], predicted: Path,
    errors: Path, correlations: Path, gaps: Sequence[Path], outputs: Sequence[Path],
) -> None:  # fmt: skip
    """Write a figure that is drawn from the tables of a suite."""
    results = Results(
        PREDICTED.read(predicted).to_pandas(),
        ERRORS.read(errors).to_pandas(),
        CORRELATIONS.read(correlations).to_pandas(),
        GAPS.read(gaps[0]).to_pandas() if gaps else None,
        tuple(uncounted),
    )
    save_figure(KINDS[kind](results, **options), *outputs)
