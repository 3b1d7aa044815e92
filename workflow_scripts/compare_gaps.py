"""Rule compare_gaps: the gaps of one model on a suite, matched and decomposed."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.accuracy_prediction.gaps import GAPS, tabulate_gaps
from matcheval.accuracy_prediction.outputs.loading import OutputFiles
from matcheval.accuracy_prediction.outputs.model_outputs import ClassRule, Outputs
from matcheval.accuracy_prediction.scoring import SuiteReader
from matcheval.datasets.suites import Suite
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.protocol.settings import MatchingMethod


def main(
    *,
    model: str,
    suite: Suite,
    base: str,
    classes: Sequence[str] | Path,
    files: OutputFiles,
    rule: ClassRule,
    method: MatchingMethod,
    seeds: Sequence[int],
    gaps: Path,
) -> None:
    """Write the gaps.

    Parameters
    ----------
    model : str
        Name of the model.
    suite : Suite
    base : str
        Name of the base.
    classes : sequence of str, or Path
        Class names by label, or the description of the base, which has them.
    files : OutputFiles
    rule : ClassRule
        How probabilities are restricted where a member names classes.
    method : MatchingMethod
    seeds : sequence of int
        Of the matching.
    gaps : Path
        The table to write.

    Raises
    ------
    InputError
        If a file is missing or invalid, or a set has no datapoints of the classes that count.
    """

    def read(name: str) -> Outputs:
        return files.read(name, model)

    reader = SuiteReader(read(base), classes, rule)
    table = tabulate_gaps(model, suite, base, reader, read, method, seeds)
    write_table(GAPS.from_frame(table), gaps)
    logging.info("%s: %d sets", model, len(table))


if __name__ == "__main__":
    run_script(main, snakemake)
