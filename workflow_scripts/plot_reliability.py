"""Rule plot_reliability: reliability and confidences of one model's subsets, as Fig. 5 and 8."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from matcheval.datasets.pairs import Pair
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figures
from matcheval.predictions.files import read_predictions
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.figures.reliability import plot_reliability
from matcheval.protocol.figures.subsets import reliability_data
from matcheval.protocol.schemas import PAIRS


def main(
    *,
    model: str,
    pair: Mapping[str, Any],
    prediction_files: tuple[str, str],
    pairs_file: str,
    criterion: str,
    epsilon: float,
    seeds: Sequence[int],
    bins: int,
    outputs: Sequence[str],
) -> None:
    """Draw the subsets of original and replication to every output, by its suffix."""
    original, replication = map(read_predictions, prediction_files)
    comparison = Comparison(model, Pair(**pair), original, replication)
    data = reliability_data(comparison, PAIRS.read(pairs_file), criterion, epsilon, seeds)
    figure = plot_reliability(data, bins)
    save_figures(figure, outputs)
    logging.info("%s", {subset.role.value: subset.n_per_seed for subset in data.subsets})


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        **{name: snakemake.params[name] for name in ("pair", "epsilon", "seeds", "bins")},
        model=snakemake.wildcards.model,
        prediction_files=(snakemake.input.original[0], snakemake.input.replication[0]),
        pairs_file=snakemake.input.pairs,
        criterion=snakemake.wildcards.criterion,
        outputs=list(snakemake.output),
    )
