"""Rule tabulate_people: accuracies of people beside those of the models."""

import logging
from collections.abc import Mapping, Sequence

from matcheval.dataset_specs import DatasetSpec
from matcheval.doors import run_script
from matcheval.followups.people import people_accuracies, read_people
from matcheval.followups.schemas import PEOPLE
from matcheval.followups.tables import people_columns
from matcheval.replication.correctness import dataset_correctness
from matcheval.replication.rendering import write_readable


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
