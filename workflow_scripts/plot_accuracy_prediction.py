"""Rule plot_accuracy_prediction: a figure of the predicted accuracies on a suite."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matcheval.accuracy_prediction.errors import CORRELATIONS, ERRORS
from matcheval.accuracy_prediction.figures import draw
from matcheval.accuracy_prediction.figures.results import Results
from matcheval.accuracy_prediction.gaps import GAPS
from matcheval.accuracy_prediction.predicting import PREDICTED
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figure


def main(
    *,
    kind: str,
    options: Mapping[str, Any],
    uncounted: Sequence[str],
    predicted: Path,
    errors: Path,
    correlations: Path,
    gaps: Sequence[Path],
    outputs: Sequence[Path],
) -> None:
    """Write a figure."""
    results = Results(
        PREDICTED.read(predicted).to_pandas(),
        ERRORS.read(errors).to_pandas(),
        CORRELATIONS.read(correlations).to_pandas(),
        GAPS.read(gaps[0]).to_pandas() if gaps else None,
        tuple(uncounted),
    )
    save_figure(draw(kind, results, options), *outputs)


if __name__ == "__main__":
    run_script(main, snakemake)
