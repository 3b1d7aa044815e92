"""All kinds of figures of a suite, by name."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from matcheval.accuracy_prediction.figures import (
    bars,
    distributions,
    matrices,
    pairs,
    points,
    protocol,
)
from matcheval.accuracy_prediction.figures.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS: Mapping[str, Callable[..., "Figure"]] = {
    "errors": bars.plot,
    "scores": points.plot_scores,
    "predictions": points.plot_predictions,
    "errors_by_accuracy": points.plot_errors,
    "two_methods": pairs.plot,
    "correlations": matrices.plot_correlations,
    "rankings": matrices.plot_rankings,
    "models": distributions.plot_models,
    "sizes": distributions.plot_sizes,
    "missing_classes": distributions.plot_missing_classes,
    "protocol": protocol.plot,
}


def draw(kind: str, results: Results, options: Mapping[str, Any]) -> "Figure":
    """Draw a figure of a kind."""
    return KINDS[kind](results, **options)
