"""Rules tabulate_<analysis> of the analyses with a table per pair."""

import logging
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from matcheval.datasets.suites import Pair
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable
from matcheval.predictions.layout import Layout
from matcheval.protocol.compared_models import read_models
from matcheval.protocol.pair_blocks import GroupSource
from matcheval.protocol.settings import MatchingMethod


def main(
    *,
    room: str,
    pair: Pair,
    models: Sequence[str],
    original: Sequence[Path],
    replication: Sequence[Path],
    matchings: Mapping[str, MatchingMethod],
    seeds: Sequence[int],
    layouts: Mapping[str, Layout],
    groups: Mapping[str, GroupSource],
    options: Mapping[str, Any],
    outputs: Sequence[Path],
) -> None:
    """Write the table of one pair."""
    tables = import_module(f"{room}.tables")
    known = read_models(
        pair, models, {"original": original, "replication": replication}, matchings, seeds,
        layouts, groups,
    )  # fmt: skip
    table = tables.tabulate(known, **options)
    write_readable(table, tables.SCHEMA, tables.text_columns, outputs)
    logging.info("%d rows, of %d models", len(table), len(models))


if __name__ == "__main__":
    run_script(main, snakemake)
