"""Rule tabulate_followup: a follow-up on one dataset, of any kind that `followups.kinds` has."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from matcheval.analyses.kinds import KINDS, tabulate
from matcheval.datasets.specs import DatasetSpec
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable
from matcheval.predictions.correctness import dataset_correctness


def main(
    *,
    kind: str,
    spec: DatasetSpec,
    models: Sequence[str],
    predictions: Sequence[str],
    file: str,
    options: Mapping[str, Any],
    outputs: Sequence[str],
) -> None:
    """Write the table to every output, by its suffix; `file` is the user's own, or empty."""
    known = dataset_correctness(spec, models, predictions)
    table = tabulate(kind, known, spec.name, file, options)
    write_readable(table, KINDS[kind].schema, KINDS[kind].columns, outputs)
    logging.info("%d rows, of %d images and %d models", len(table), len(known), len(models))


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        kind=snakemake.wildcards.followup,
        spec=DatasetSpec(**snakemake.params.dataset),
        models=snakemake.params.models,
        predictions=snakemake.params.predictions,
        file=next(iter(snakemake.input.get("file") or []), ""),
        options=snakemake.params.options,
        outputs=list(snakemake.output),
    )
