"""Rule compare_predictions: predicted gaps beside what the protocol says of the same gaps."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from matcheval.accuracy_prediction.gaps import GAPS, PREDICTED_GAPS, join, tabulate_comparison
from matcheval.accuracy_prediction.predicting import PREDICTED, with_places
from matcheval.accuracy_prediction.reading import comparison_columns, setting_notes
from matcheval.accuracy_prediction.scores import ALL_SCORES
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.io.text_tables import write_readable


def main(
    *,
    predicted: Path,
    gaps: Sequence[Path],
    confidence: float,
    uncounted: Sequence[str],
    places: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any],
    tables: Sequence[Path],
    of_suite: Path,
) -> None:
    """Write the comparison, and the gaps of all models."""
    tables_of_models = [GAPS.read(path).to_pandas() for path in gaps]
    every = with_places(pd.concat(tables_of_models, ignore_index=True), places)
    write_table(GAPS.from_frame(every), of_suite)
    joined = join(PREDICTED.read(predicted).to_pandas(), every)
    counted = joined[~joined["model"].isin(uncounted)]
    compared = tabulate_comparison(counted, confidence)
    readable = partial(comparison_columns, known=ALL_SCORES)
    write_readable(compared, PREDICTED_GAPS, readable, tables, setting_notes(settings))
    logging.info("%d predicted gaps of %d sets", len(joined), joined["dataset"].nunique())


if __name__ == "__main__":
    run_script(main, snakemake)
