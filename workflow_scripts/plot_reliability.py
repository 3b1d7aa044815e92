"""Rule plot_reliability: reliability and confidences of one model's subsets (Fig. 5 and 8)."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from matcheval.datasets.suites import Pair
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figure
from matcheval.predictions.layout import Layout
from matcheval.protocol.comparisons import read_comparison
from matcheval.protocol.figures.reliability import plot_reliability, reliability_data
from matcheval.protocol.schemas import PAIRS


def main(
    *,
    model: str,
    pair: Pair,
    original: Sequence[Path],
    replication: Sequence[Path],
    layouts: Mapping[str, Layout],
    pairs: Path,
    title: str,
    epsilon: float,
    seeds: Sequence[int],
    bins: int,
    outputs: Sequence[Path],
) -> None:
    """Plot the reliability diagram of one model: whole sets, matched and unmatched subsets."""
    comparison = read_comparison(model, pair, (original[0], replication[0]), layouts)
    data = reliability_data(comparison, PAIRS.read(pairs), title, epsilon, seeds)
    save_figure(plot_reliability(data, bins), *outputs)
    logging.info("%s", {subset.role.value: subset.n_per_seed for subset in data.subsets})


if __name__ == "__main__":
    run_script(main, snakemake)
