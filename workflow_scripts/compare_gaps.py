"""Rule compare_gaps: the gaps of one model on a suite, matched and decomposed."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.accuracy_prediction.gaps import GAPS, tabulate_gaps
from matcheval.accuracy_prediction.output_files import OutputFiles
from matcheval.accuracy_prediction.scores.outputs import ClassRule, Outputs
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
    """Write the gaps."""

    def read(name: str) -> Outputs:
        return files.read(name, model)

    reader = SuiteReader(read(base), classes, rule)
    table = tabulate_gaps(model, suite, base, reader, read, method, seeds)
    write_table(GAPS.from_frame(table), gaps)
    logging.info("%s: %d sets", model, len(table))


if __name__ == "__main__":
    run_script(main, snakemake)
