"""Rules match_predictions, match_and_save_pairs: match predictions of models on one pair."""

import logging
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

from matcheval.datasets.suites import Pair
from matcheval.errors import ErrorCollector
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table
from matcheval.predictions.layout import Layout
from matcheval.protocol.compared_models import MatchedModel
from matcheval.protocol.comparisons import read_comparison, suspicions_of, with_suspicions
from matcheval.protocol.schemas import join_runs
from matcheval.protocol.settings import MatchingMethod


def main(
    *,
    batches: Sequence[Sequence[str]],
    saved: Sequence[str],
    pair: Pair,
    original: Sequence[Path],
    replication: Sequence[Path],
    layouts: Mapping[str, Layout],
    matchings: Mapping[str, MatchingMethod],
    seeds: Sequence[int],
    runs: Sequence[Path],
    pairs: Sequence[Path],
) -> None:
    """Run the matched evaluation protocol by several matchings, and write runs and pairs."""
    problems, files = ErrorCollector(), zip(original, replication, strict=True)
    pair_files = dict(zip(product(matchings, saved), pairs, strict=True))
    found: list[tuple[str, str]] = []
    tables = {place: [] for place in product(matchings, range(len(batches)))}
    for batch, model in ((batch, model) for batch, of in enumerate(batches) for model in of):
        with problems.collected():
            comparison = read_comparison(model, pair, next(files), layouts)
            found += [(model, text) for text in suspicions_of(comparison)]
            for name, method in matchings.items():
                matched = MatchedModel.of(comparison, method, seeds)
                tables[name, batch].append(matched.runs())
                if model in saved:
                    write_table(matched.pairs(), pair_files[name, model])
    problems.raise_any()
    for path, parts in zip(runs, tables.values(), strict=True):
        write_table(with_suspicions(join_runs(parts), found), path)
    for model, text in found:
        logging.warning("warning: %s, %s", model, text)
    logging.info("%d models, %d matchings, %d seeds", len(original), len(matchings), len(seeds))


if __name__ == "__main__":
    run_script(main, snakemake)
