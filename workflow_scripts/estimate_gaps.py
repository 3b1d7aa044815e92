"""Rule estimate_gaps: what the gaps of a pair consist of, with standard errors."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from matcheval.datasets.suites import Pair
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.predictions.layout import Layout
from matcheval.protocol.blocks import GroupSource
from matcheval.protocol.compared_models import read_models
from matcheval.protocol.gaps import estimate_gaps
from matcheval.protocol.schemas import GAPS, MEAN_GAPS
from matcheval.protocol.settings import MatchingMethod


def main(
    *,
    models: Sequence[str],
    pair: Pair,
    matchings: Mapping[str, MatchingMethod],
    seeds: Sequence[int],
    layouts: Mapping[str, Layout],
    groups: Mapping[str, GroupSource],
    original: Sequence[Path],
    replication: Sequence[Path],
    tables: Sequence[Path],
    means: Sequence[Path],
) -> None:
    """Estimate the gaps of all models on a pair, and write tables."""
    files = {"original": original, "replication": replication}
    known = read_models(pair, models, files, matchings, seeds, layouts, groups)
    found = estimate_gaps(known)
    n = len(tables) // len(matchings)
    for number, frame in enumerate(found.models.values()):
        for path in tables[number * n : (number + 1) * n]:
            write_table(GAPS.from_frame(frame), path)
    for path in means:
        write_table(MEAN_GAPS.from_frame(found.means), path)
    logging.info("%d models, %d matchings", len(models), len(matchings))


if __name__ == "__main__":
    run_script(main, snakemake)
