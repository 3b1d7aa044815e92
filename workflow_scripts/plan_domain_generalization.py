"""Rule plan_domain_generalization: check sources and targets, and list all trainings."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from matcheval.datasets.folders import read_dataset
from matcheval.domain_generalization.plan import Block, check_images
from matcheval.domain_generalization.tables import PLAN, counts, plan_columns
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable


def main(
    *,
    blocks: Sequence[Block],
    plan: Sequence[Mapping[str, Any]],
    folders: Mapping[str, Path],
    batch_size: int,
    parts: int,
    outputs: Sequence[Path],
) -> None:
    """Check the prepared sources and targets, and write the plan."""
    sets = {name: read_dataset(folder, verify=False) for name, folder in folders.items()}
    check_images(blocks, sets, batch_size, parts)
    table = pd.DataFrame(plan, columns=PLAN.names)
    write_readable(table, PLAN, plan_columns, outputs, [counts(table)])
    logging.info("%d sets, %s", len(sets), counts(table))


if __name__ == "__main__":
    run_script(main, snakemake)
