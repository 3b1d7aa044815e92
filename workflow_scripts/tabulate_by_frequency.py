"""Rule tabulate_by_frequency: accuracies by bins of the selection frequency, and their figure."""

from collections.abc import Sequence

from matcheval.dataset_specs import DatasetSpec
from matcheval.doors import run_script
from matcheval.figures.by_frequency import plot_by_frequency
from matcheval.figures.saving import save_figure
from matcheval.followups.by_frequency import accuracies_by_frequency, read_counts
from matcheval.followups.schemas import BY_FREQUENCY
from matcheval.followups.tables import frequency_columns
from matcheval.replication.correctness import dataset_correctness
from matcheval.replication.rendering import write_readable


def main(
    *,
    spec: DatasetSpec,
    models: Sequence[str],
    predictions: Sequence[str],
    frequencies: str,
    confidence: float,
    tables: Sequence[str],
    figures: Sequence[str],
) -> None:
    """Write tables and figures, by their suffixes."""
    known = dataset_correctness(spec, models, predictions)
    table = accuracies_by_frequency(
        known, spec.name, read_counts(frequencies), confidence=confidence, file=frequencies
    )
    write_readable(table, BY_FREQUENCY, frequency_columns, tables)
    figure = plot_by_frequency(table)
    for path in figures:
        save_figure(figure, path)


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        spec=DatasetSpec(**snakemake.params.dataset),
        models=snakemake.params.models,
        predictions=snakemake.params.predictions,
        frequencies=snakemake.input.frequencies,
        confidence=snakemake.params.confidence,
        tables=snakemake.output[:4],
        figures=snakemake.output[4:],
    )
