"""Rule write_summary: summarise the gaps of all pairs of a study before and after matching."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from matcheval.execution.entry_points import run_script
from matcheval.io.files import atomic_file
from matcheval.protocol.comparisons import suspicions_in
from matcheval.protocol.schemas import MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.words import write_summary


def main(
    *,
    study: str,
    titles: Mapping[str, str],
    means: Sequence[Path],
    tables: Sequence[Path],
    page: Path,
) -> None:
    """Write the summary page of a study in Markdown."""
    gaps = pd.concat([MEAN_GAPS.read(path).to_pandas() for path in means], ignore_index=True)
    suspicions = suspicions_in([MODEL_TABLE.read(path) for path in tables])
    text = write_summary(f"Study `{study}`", gaps, titles, suspicions)
    with atomic_file(page) as partial:
        partial.write_text(text, encoding="utf-8")
    logging.info("%d pairs summarised", len(means))


if __name__ == "__main__":
    run_script(main, snakemake)
