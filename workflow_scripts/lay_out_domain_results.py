"""Rule lay_out_domain_results: results in the layout of a paper's table."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.domain_generalization.results import only
from matcheval.domain_generalization.tables import RESULTS, by_domain, by_group
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable


def main(*, design: str, selection: str, results: Path, outputs: Sequence[Path]) -> None:
    """Write a table for readers."""
    table = only(RESULTS.read(results).to_pandas(), selection, design)
    columns = by_domain if design else by_group
    write_readable(table, RESULTS, columns, outputs)
    logging.info("%s: %d results", selection, len(table))


if __name__ == "__main__":
    run_script(main, snakemake)
