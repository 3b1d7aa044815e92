"""Rule write_summary: summarise the gaps of all pairs of a study before and after matching."""

import logging
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

from matcheval.execution.entry_points import run_script
from matcheval.io.files import atomic_file
from matcheval.protocol.schemas import MODEL_TABLE
from matcheval.protocol.summary import summarize_gaps, write_summary
from matcheval.protocol.suspicions import suspicions_in


def main(*, study: str, titles: Mapping[str, str], tables: Sequence[Path], page: Path) -> None:
    """Write the summary page of a study in Markdown.

    Parameters
    ----------
    study : str
        Name of the study.
    titles : mapping of str to str
        What readers call the matchings, by name.
    tables : sequence of Path
        Tables with the columns of `schemas.MODEL_TABLE`, one for each pair and matching; those of
        a pair in the order of `titles`.
    page : Path
        File to write.
    """
    read = [MODEL_TABLE.read(path) for path in tables]
    summaries = [
        summarize_gaps(table.to_pandas(), *names)
        for table, names in zip(read, cycle(titles.items()))
    ]
    text = write_summary(f"Study `{study}`", summaries, suspicions_in(read))
    with atomic_file(page) as partial:
        partial.write_text(text, encoding="utf-8")
    logging.info("%d tables summarised", len(tables))


if __name__ == "__main__":
    run_script(main, snakemake)
