"""Rule tabulate_severity: gaps from a base to the sets of a suite, by severity."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from matcheval.analyses.severity.tables import SCHEMA, tabulate_severities, text_columns
from matcheval.datasets.specs import DatasetSpec
from matcheval.datasets.suites import Suite
from matcheval.errors import ErrorCollector
from matcheval.execution.entry_points import run_script
from matcheval.inference.files import predictions_file
from matcheval.io.text_tables import write_readable
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import layout_of
from matcheval.predictions.records import Predictions
from matcheval.protocol.settings import MatchingMethod


def main(
    *,
    suite: Suite,
    base: str,
    custom: Mapping[str, DatasetSpec],
    predictions: Path,
    models: Sequence[str],
    matchings: Mapping[str, MatchingMethod],
    seeds: Sequence[int],
    paired: bool,
    outputs: Sequence[Path],
) -> None:
    """Write the table of one suite.

    Parameters
    ----------
    suite : Suite
    base : str
        Name of the base.
    custom : mapping of str to DatasetSpec
        Datasets that consist of the user's prediction files.
    predictions : Path
        Folder of the files that inference wrote.
    models : sequence of str
        Names of the models.
    matchings : mapping of str to MatchingMethod
        How they are matched, by name.
    seeds : sequence of int
        Seeds, one for each run.
    paired : bool
        Whether all sets show the base's images.
    outputs : sequence of Path
        Files to write, in the formats of their suffixes.

    Raises
    ------
    InputError
        If predictions are missing or invalid, or paired sets do not agree.
    """

    def read(dataset: str) -> list[Predictions]:
        problems, found = ErrorCollector(), []
        for model in models:
            with problems.collected():
                if dataset in custom:
                    spec = custom[dataset]
                    found.append(read_predictions(spec.results_file(model), layout=layout_of(spec)))
                else:
                    found.append(read_predictions(predictions_file(predictions, dataset, model)))
        problems.raise_any()
        return found

    table = tabulate_severities(suite, base, read, models, matchings, seeds, paired=paired)
    write_readable(table, SCHEMA, text_columns, outputs)
    logging.info("%s: %d sets, %d models", suite.name, len(suite.members), len(models))


if __name__ == "__main__":
    run_script(main, snakemake)
