"""Rule tabulate_suite_accuracies: accuracies of all models on the sets of a suite."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from matcheval.analyses.suite_accuracies.tables import SCHEMA, tabulate_suite, text_columns
from matcheval.datasets.folders import read_description
from matcheval.datasets.label_spaces import compare_classes
from matcheval.datasets.specs import DatasetSpec
from matcheval.datasets.suites import Suite
from matcheval.errors import InputError
from matcheval.execution.entry_points import run_script
from matcheval.inference.files import output_files
from matcheval.io.text_tables import write_readable
from matcheval.predictions.correctness import Correctness, dataset_correctness


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
        If predictions are missing or invalid, a set has other classes than the base, or no images
        of the classes that its member names.
    """

    def correctness(name: str) -> Correctness:
        files = [
            str(output_files(predictions, name, model, ())["predictions"])
            if name in folders
            else specs[name].results_file(model)
            for model in models
        ]
        return dataset_correctness(specs[name], models, files)

    classes = {
        name: tuple(read_description(folders[name])["classes"])
        if name in folders
        else spec.settings.known_classes
        for name, spec in specs.items()
    }
    of_base = classes[base]
    labels = {}
    for member in suite.members:
        of_set = classes[member.dataset]
        if of_set and of_base and of_set != of_base:
            raise InputError(
                f"dataset '{member.dataset}' has, against the base '{base}', "
                f"{compare_classes(of_set, of_base)}",
                file="configuration",
                field=f"suite_accuracies.suites.{suite.name}",
            )
        if member.classes:
            known = list(of_set or of_base or ())
            labels[member.dataset] = np.array([known.index(name) for name in member.classes])
    table = tabulate_suite(suite, base, correctness, labels, confidence)
    write_readable(table, SCHEMA, text_columns, outputs)
    logging.info("%s: %d sets, %d models", suite.name, len(suite.members), len(models))


if __name__ == "__main__":
    run_script(main, snakemake)
