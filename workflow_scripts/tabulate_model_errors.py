"""Rule tabulate_model_errors: errors of the accuracies predicted for one model on a suite."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matcheval.accuracy_prediction.errors import ERRORS, tabulate_errors
from matcheval.accuracy_prediction.predicting import PREDICTED
from matcheval.accuracy_prediction.reading import error_columns, setting_notes
from matcheval.accuracy_prediction.scores import ALL_SCORES
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable


def main(
    *,
    scored: str,
    predicted: Path,
    settings: Mapping[str, Any],
    confidence: float,
    errors: Sequence[Path],
) -> None:
    """Write the errors."""
    found = PREDICTED.read(predicted).to_pandas()
    found = found[found["model"] == scored]
    notes = setting_notes(settings, found.loc[found["predicted"].isna(), "reason"].tolist())
    readable = partial(error_columns, known=ALL_SCORES)
    write_readable(tabulate_errors(found, confidence), ERRORS, readable, errors, notes)


if __name__ == "__main__":
    run_script(main, snakemake)
