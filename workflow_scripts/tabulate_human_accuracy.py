"""Rule tabulate_human_accuracy: accuracies of human participants beside those of the models."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from matcheval.analyses.human_accuracy.tables import (
    SCHEMA,
    human_accuracies,
    read_annotations,
    text_columns,
)
from matcheval.datasets.kinds import DatasetSpec
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable
from matcheval.predictions.correctness import dataset_correctness


def main(
    *,
    specs: Mapping[str, DatasetSpec],
    models: Sequence[str],
    predictions: Mapping[str, Sequence[str]],
    annotations: Path,
    pair: str,
    confidence: float,
    outputs: Sequence[Path],
) -> None:
    """Write the table of human accuracies on one pair."""
    known = {o: dataset_correctness(spec, models, predictions[o]) for o, spec in specs.items()}
    given = read_annotations(annotations)
    table = human_accuracies(given, known, pair, confidence, file=annotations)
    write_readable(table, SCHEMA, text_columns, outputs)
    logging.info("%d participants", len(table))


if __name__ == "__main__":
    run_script(main, snakemake)
