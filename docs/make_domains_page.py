"""Update docs/domain-generalization.md: `make_domains_page.py [STUDY ...]`.

Of every study named, whose results lie in `results/`, the table of results is taken into
docs/domains/. Then the page's tables are written from there.
"""

import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
from take_over import update_page

from matcheval.domain_generalization.tables import (
    PER_RUN,
    RESULTS,
    by_domain,
    by_group,
    result_columns,
)
from matcheval.io.text_tables import TextColumn, markdown

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "domain-generalization.md"
KEPT = ROOT / "docs" / "domains"
SELECTION = "source_validation"
DECIMALS = 6


def take(study: str) -> None:
    """Copy a study's results.

    Parameters
    ----------
    study : str
        Its name.
    """
    file = ROOT / "results" / study / "domain_generalization" / "results.parquet"
    table = RESULTS.read(file).to_pandas()
    table.round(DECIMALS).to_csv(KEPT / f"{study}.csv", index=False)


def read(study: str) -> pd.DataFrame:
    """Return the results of a study that were taken.

    Parameters
    ----------
    study : str
        Its name.
    """
    table = pd.read_csv(KEPT / f"{study}.csv")
    table["design"] = table["design"].astype(object).fillna("")
    return table


def averages(table: pd.DataFrame) -> list[TextColumn]:
    """Lay out averages over the targets and gains over ERM, side by side for all selections."""
    columns: list[TextColumn] = []
    for selection, rows in table.groupby("selection", sort=False):
        _, _, algorithms, *_, accuracy, gain, _, p_holm = result_columns(rows)
        columns += [
            *([] if columns else [algorithms]),
            replace(accuracy, head=f"{str(selection).replace('_', ' ')} (%)"),
            replace(gain, head="gain over ERM (points)"),
            p_holm,
        ]
    return columns


def tables(block: str) -> str:
    """Return the table that a block of the page names: `targets`, `blocks` or `averages`."""
    study, layout = block.split("/")
    table = read(study)
    rows = table[(table["design"] == "") == (layout == "blocks")]
    known = set(rows["selection"])
    shown = SELECTION + PER_RUN if SELECTION + PER_RUN in known else SELECTION  # tables of 0.2
    selected = rows[rows["selection"] == shown]
    if layout == "averages":
        return markdown(averages(rows))
    return markdown((by_group if layout == "blocks" else by_domain)(selected))


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for name in sys.argv[1:]:
        take(name)
    update_page(PAGE, tables)
