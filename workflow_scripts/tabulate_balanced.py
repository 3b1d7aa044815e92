"""Rule tabulate_balanced: accuracies on exactly balanced classes."""

from collections.abc import Sequence

from matcheval.dataset_specs import DatasetSpec
from matcheval.doors import run_script
from matcheval.followups.balanced import balanced_accuracies
from matcheval.followups.schemas import BALANCED
from matcheval.followups.tables import balanced_columns
from matcheval.replication.correctness import dataset_correctness
from matcheval.replication.rendering import write_readable


def main(
    *,
    spec: DatasetSpec,
    models: Sequence[str],
    predictions: Sequence[str],
    seed: int,
    confidence: float,
    outputs: Sequence[str],
) -> None:
    """Write the table to every output, by its suffix."""
    known = dataset_correctness(spec, models, predictions)
    table = balanced_accuracies(known, spec.name, seed, confidence)
    write_readable(table, BALANCED, balanced_columns, outputs)


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        spec=DatasetSpec(**snakemake.params.dataset),
        models=snakemake.params.models,
        predictions=snakemake.params.predictions,
        seed=snakemake.params.seed,
        confidence=snakemake.params.confidence,
        outputs=list(snakemake.output),
    )
