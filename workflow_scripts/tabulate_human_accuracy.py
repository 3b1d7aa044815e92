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
from matcheval.datasets.specs import DatasetSpec
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
    """Write the table of human accuracies on one pair.

    Parameters
    ----------
    specs : mapping of str to DatasetSpec
        The two datasets, by `original` and `replication`.
    models : sequence of str
        Names of the models.
    predictions : mapping of str to sequence of str
        Their prediction files on each dataset; empty for published results.
    annotations : Path
        CSV file of the participants' annotations.
    pair : str
        Name of the pair.
    confidence : float
        Level of the intervals, in (0, 1).
    outputs : sequence of Path
        Files to write, in the formats of their suffixes.

    Raises
    ------
    InputError
        If predictions or annotations are missing or invalid.
    """
    known = {o: dataset_correctness(spec, models, predictions[o]) for o, spec in specs.items()}
    given = read_annotations(annotations)
    table = human_accuracies(given, known, pair, confidence, file=annotations)
    write_readable(table, SCHEMA, text_columns, outputs)
    logging.info("%d participants", len(table))


if __name__ == "__main__":
    run_script(main, snakemake)
