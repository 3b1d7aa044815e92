"""Rule tabulate_suite_accuracies: accuracies of all models on the sets of a suite."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from matcheval.analyses.suite_accuracies.tables import SCHEMA, tabulate_suite, text_columns
from matcheval.datasets.folders import read_description
from matcheval.datasets.specs import DatasetSpec
from matcheval.datasets.suites import Suite
from matcheval.execution.entry_points import run_script
from matcheval.inference.files import output_files
from matcheval.io.text_tables import write_readable
from matcheval.predictions.correctness import dataset_correctness


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
    suite : Suite
        The suite.
    base : str
        Name of the set that its sets are compared with.
    specs : mapping of str to DatasetSpec
        The base and all sets, by name.
    folders : mapping of str to Path
        Folders of those that have images.
    predictions : Path
        Folder of the files that inference wrote.
    models : sequence of str
        Names of the models.
    confidence : float
        Level of the intervals, in (0, 1).
    outputs : sequence of Path
        Files to write, in the formats of their suffixes.

    Raises
    ------
    InputError
        If predictions are missing or invalid, or a set has no images of the classes that its member
        names.
    """
    known = {}
    for name, spec in specs.items():
        files = [
            str(output_files(predictions, name, model, ())["predictions"])
            if name in folders
            else spec.results_file(model)
            for model in models
        ]
        known[name] = dataset_correctness(spec, models, files)
    labels = {}
    for member in suite.members:
        if member.classes:
            spec = specs[member.dataset]
            classes = list(
                read_description(folders[member.dataset])["classes"]
                if member.dataset in folders
                else spec.settings.known_classes or ()
            )
            labels[member.dataset] = np.array([classes.index(name) for name in member.classes])
    table = tabulate_suite(suite, base, known, labels, confidence)
    write_readable(table, SCHEMA, text_columns, outputs)
    logging.info("%s: %d sets, %d models", suite.name, len(suite.members), len(models))


if __name__ == "__main__":
    run_script(main, snakemake)
