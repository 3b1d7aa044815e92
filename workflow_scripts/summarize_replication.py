"""Rule summarize_replication: average change and rank agreement of every pair of a study."""

import logging
from collections.abc import Mapping, Sequence

from matcheval.analyses.sampling.schemas import PROVENANCE
from matcheval.execution.entry_points import run_script
from matcheval.io.text_tables import write_readable
from matcheval.replication.columns import changes_columns
from matcheval.replication.results import summarize_changes
from matcheval.replication.schemas import CHANGES, RESULTS


def main(
    *,
    results: Sequence[str],
    provenances: Mapping[str, str],
    range_without: Sequence[str],
    outputs: Sequence[str],
) -> None:
    """Write the table of `replication.schemas.CHANGES` to every output, by its suffix.

    `provenances` are those of sampled sets, by name.
    """
    tables = [RESULTS.read(path).to_pandas() for path in results]
    frequencies = {
        name: float(PROVENANCE.read(path)["frequency"].to_numpy().mean())
        for name, path in provenances.items()
    }
    changes = summarize_changes(
        tables, range_without=range_without, selection_frequencies=frequencies
    )
    write_readable(changes, CHANGES, changes_columns, outputs)
    logging.info("%d tables", len(changes))


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        results=snakemake.input.results,
        provenances=snakemake.params.provenances,
        range_without=snakemake.params.range_without,
        outputs=list(snakemake.output),
    )
