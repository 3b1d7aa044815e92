"""Which figures of accuracy prediction a study has, and how those of tables are written."""

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.accuracy_prediction import plots
from matcheval.accuracy_prediction.errors import CORRELATIONS, ERRORS
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


def figures_of_tables(
    settings: AccuracyPredictionSettings, suite: Suite, chosen: Sequence[AnyScore]
) -> dict[str, ChosenFigure]:
    """Return the figures that are drawn from the tables of a suite: kind and options, by name."""
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
    return figures


def procedures(settings: AccuracyPredictionSettings, suite: str) -> dict[str, Procedure]:
    """Return the procedures of predicting on a suite, by a name for files."""
    found: dict[str, Procedure] = {}
    if settings.leave_one_out:
        found["leave-one-out"] = (LEAVE_ONE_OUT, "linear", "")
    for on in dict.fromkeys(on for on, _ in settings.suites[suite].regressions):
        for regressor in settings.regressors:
            parts = ["calibrated", *on, *([regressor] if regressor != "linear" else [])]
            found[_file_name(parts, found)] = (CALIBRATED, regressor, "+".join(on))
    return found or {"direct": (DIRECT, "", "")}


def figures_of_outputs(settings: SuitePredictionSettings) -> dict[str, ChosenFigure]:
    """Return the figures that are drawn from outputs of models: kind and options, by name."""
    figures: dict[str, ChosenFigure] = {}
    for histogram in settings.histograms:
        name = f"confidences-of-{histogram.model}-on-{histogram.dataset}"
        figures[name] = ("confidences", histogram.model_dump(mode="json"))
    for shown in settings.embeddings:
        group = shown.group or "all"
        parts = ["features-of", shown.model, shown.class_name, group, "by", shown.by]
        figures[_file_name(parts, figures)] = ("features", shown.model_dump(mode="json"))
    return figures


def _file_name(parts: Iterable[str], taken: Collection[str]) -> str:
    """Return a name of parts for files, with a number if another figure has it."""
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(parts))
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)


def plot_tables(
    *, kind: str, options: Mapping[str, Any], excluded_from_mean: Sequence[str], predicted: Path,
    errors: Path, correlations: Path, outputs: Sequence[Path],
) -> None:  # fmt: skip
    """Write a figure that is drawn from the tables of a suite."""
    results = plots.Results(
        PREDICTED.read(predicted).to_pandas(),
        ERRORS.read(errors).to_pandas(),
        CORRELATIONS.read(correlations).to_pandas(),
        tuple(excluded_from_mean),
    )
    save_figure(KINDS[kind](results, **options), *outputs)
