"""Figures of accuracy prediction: a function per kind of figure, not per figure of a paper."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from matcheval.accuracy_prediction.figures import correlations, errors
from matcheval.accuracy_prediction.figures.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS: Mapping[str, Callable[..., "Figure"]] = {
    "errors": errors.plot_errors,
    "scores": correlations.plot_scores,
    "predictions": correlations.plot_predictions,
    "errors_by_accuracy": correlations.plot_errors_by_accuracy,
    "two_methods": errors.plot_two_methods,
    "correlations": correlations.plot_correlations,
    "rankings": correlations.plot_rankings,
    "models": errors.plot_models,
    "sizes": errors.plot_sizes,
    "missing_classes": errors.plot_missing_classes,
    "protocol": correlations.plot_protocol,
}


def draw(kind: str, results: Results, options: Mapping[str, Any]) -> "Figure":
    """Draw a figure of a kind."""
    return KINDS[kind](results, **options)
