"""Rule tabulate_people: accuracies of people beside those of the models."""

import logging
from collections.abc import Mapping, Sequence

from matcheval.analyses.human_accuracy.tables import (
    PEOPLE,
    people_accuracies,
    people_columns,
    read_people,
)
from matcheval.datasets.specs import DatasetSpec
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable
from matcheval.predictions.correctness import dataset_correctness


def main(
    *,
    specs: Mapping[str, DatasetSpec],
    models: Sequence[str],
    predictions: Mapping[str, Sequence[str]],
    answers: str,
    pair: str,
    confidence: float,
    outputs: Sequence[str],
) -> None:
    """Write the table to every output, by its suffix; specs and predictions are by origin."""
    known = {o: dataset_correctness(spec, models, predictions[o]) for o, spec in specs.items()}
    table = people_accuracies(read_people(answers), known, pair, confidence, file=answers)
    write_readable(table, PEOPLE, people_columns, outputs)
    logging.info("%d participants", len(table))


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        specs={origin: DatasetSpec(**given) for origin, given in snakemake.params.datasets.items()},
        models=snakemake.params.models,
        predictions=snakemake.params.predictions,
        answers=snakemake.input.answers,
        pair=snakemake.wildcards.pair,
        confidence=snakemake.params.confidence,
        outputs=list(snakemake.output),
    )
