"""Rule tabulate_suite_accuracies: accuracies of all models on the sets of a suite."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from matcheval.analyses.suite_accuracies.correctness import SuiteCorrectness
from matcheval.analyses.suite_accuracies.tables import SCHEMA, tabulate_suite, text_columns
from matcheval.datasets.specs import DatasetSpec
from matcheval.datasets.suites import Suite
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable


def main(
    *,
    suite: Suite,
    base: str,
    specs: Mapping[str, DatasetSpec],
    folders: Mapping[str, Path],
    predictions: Path,
    models: Sequence[str],
    confidence: float,
    outputs: Sequence[Path],
) -> None:
    """Write the table of one suite.

    Parameters
    ----------
    suite, base, specs, folders, predictions, models
        As for `SuiteCorrectness`.
    confidence : float
        Level of the intervals, in (0, 1).
    outputs : sequence of Path
        Files to write, in the formats of their suffixes.

    Raises
    ------
    InputError
        If predictions are missing or invalid, a set has other classes than the base, or no images
        of the classes that its member names.
    """
    correctness = SuiteCorrectness(suite, base, specs, folders, predictions, models)
    table = tabulate_suite(suite, base, correctness, correctness.labels, confidence)
    write_readable(table, SCHEMA, text_columns, outputs)
    logging.info("%s: %d sets, %d models", suite.name, len(suite.members), len(models))


if __name__ == "__main__":
    run_script(main, snakemake)
