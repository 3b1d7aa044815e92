"""Rule list_hard_images: the images of a dataset that the fewest models get right."""

import logging
from collections.abc import Sequence

from matcheval.dataset_specs import DatasetSpec
from matcheval.doors import run_script
from matcheval.followups.hard_images import hard_images
from matcheval.followups.schemas import HARD_IMAGES
from matcheval.followups.tables import hard_columns
from matcheval.replication.correctness import dataset_correctness
from matcheval.replication.rendering import write_readable


def main(
    *,
    spec: DatasetSpec,
    models: Sequence[str],
    predictions: Sequence[str],
    share: float,
    outputs: Sequence[str],
) -> None:
    """Write the table to every output, by its suffix."""
    known = dataset_correctness(spec, models, predictions)
    table = hard_images(known, spec.name, share)
    write_readable(table, HARD_IMAGES, hard_columns, outputs)
    none = (table["n_right"] == 0).sum()
    logging.info("%d of %d images; %d that no model gets right", len(table), len(known), none)


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        spec=DatasetSpec(**snakemake.params.dataset),
        models=snakemake.params.models,
        predictions=snakemake.params.predictions,
        share=snakemake.params.share,
        outputs=list(snakemake.output),
    )
