"""Rule estimate_gaps: what the gaps of a pair consist of, with standard errors."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from matcheval.datasets.pairs import Pair
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.predictions.layout import Layout
from matcheval.protocol.compared_models import read_models
from matcheval.protocol.gap_estimates import estimate_gaps
from matcheval.protocol.gap_schemas import GAPS, MEAN_GAPS
from matcheval.protocol.pair_blocks import GroupSource
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
    """Estimate the gaps of all models on a pair, and write tables.

    Parameters
    ----------
    models : sequence of str
        Names of the models.
    pair : Pair
        The pair of datasets.
    matchings : mapping of str to MatchingMethod
        How they are matched, by name.
    seeds : sequence of int
        Seeds, one for each run.
    layouts : mapping of str to Layout
        How the prediction files are laid out, by origin.
    groups : mapping of str to GroupSource
        By origin, where the groups of its datapoints are found.
    original, replication : sequence of Path
        Prediction files of the models, in their order, on each dataset.
    tables : sequence of Path
        Tables to write, with the columns of `gap_schemas.GAPS`, in the formats of their suffixes;
        those of the first matching first, and equally many of each.
    means : sequence of Path
        Tables to write, with the columns of `gap_schemas.MEAN_GAPS`.

    Raises
    ------
    InputError
        If predictions or groups are not valid, or differ between models.
    """
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
