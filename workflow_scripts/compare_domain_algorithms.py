"""Rule compare_domain_algorithms: select groups of hyper-parameters, and compare with ERM."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.domain_generalization.plan import Block
from matcheval.domain_generalization.results import (
    chosen_runs,
    tabulate_gains,
    tabulate_image_counts,
    tabulate_results,
    tabulate_spread,
)
from matcheval.domain_generalization.tables import (
    ACCURACIES,
    GAINS,
    IMAGE_COUNTS,
    RESULTS,
    RUNS,
    SPREAD,
    result_columns,
)
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.io.text_tables import write_readable

_NOTE = (
    "Accuracies are means over sets, ± standard deviations over runs (n - 1). Gains are paired by "
    "seed. A group that is selected among several favours an algorithm over ERM, which has one."
)


def main(
    *,
    blocks: Sequence[Block],
    rules: Sequence[str],
    confidence: float,
    runs: Path,
    accuracies: Path,
    results: Sequence[Path],
    gains: Sequence[Path],
    spread: Sequence[Path],
    image_counts: Sequence[Path],
) -> None:
    """Write the tables of results, gains by set, spread, and correlations with image counts."""
    chosen = chosen_runs(
        blocks, RUNS.read(runs).to_pandas(), ACCURACIES.read(accuracies).to_pandas(), rules
    )
    table = tabulate_results(chosen, confidence)
    write_readable(table, RESULTS, result_columns, results, [_NOTE])
    for schema, each, paths in (
        (GAINS, tabulate_gains(chosen), gains), (SPREAD, tabulate_spread(table), spread),
        (IMAGE_COUNTS, tabulate_image_counts(chosen), image_counts),
    ):  # fmt: skip
        for path in paths:
            write_table(schema.from_frame(each), path)
    logging.info("%d blocks, %d results", len(blocks), len(table))


if __name__ == "__main__":
    run_script(main, snakemake)
