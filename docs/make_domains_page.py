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
    table = table[~table["selection"].str.endswith(PER_RUN)]
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


def targets(study: str) -> list[TextColumn]:
    """Lay out the accuracies on every domain that is left out.

    Parameters
    ----------
    study : str
        Its name.
    """
    table = read(study)
    return by_domain(table[(table["design"] != "") & (table["selection"] == SELECTION)])


def blocks(study: str) -> list[TextColumn]:
    """Lay out the accuracies on groups of sets, for blocks of sources.

    Parameters
    ----------
    study : str
        Its name.
    """
    table = read(study)
    return by_group(table[(table["design"] == "") & (table["selection"] == SELECTION)])


def averages(study: str) -> list[TextColumn]:
    """Lay out averages over the targets and gains over ERM, side by side for all selections.

    Parameters
    ----------
    study : str
        Its name.
    """
    table = read(study)
    columns: list[TextColumn] = []
    for selection, rows in table[table["design"] != ""].groupby("selection", sort=False):
        _, _, algorithms, *_, accuracy, gain, _, p_holm = result_columns(rows)
        columns += [
            *([] if columns else [algorithms]),
            replace(accuracy, head=f"{str(selection).replace('_', ' ')} (%)"),
            replace(gain, head="gain over ERM (points)"),
            p_holm,
        ]
    return columns


LAYOUTS = {"targets": targets, "averages": averages, "blocks": blocks}


def tables(block: str) -> str:
    """Return the table that a block of the page names, such as `pacs/targets`.

    Parameters
    ----------
    block : str
        Study and layout.
    """
    study, layout = block.split("/")
    return markdown(LAYOUTS[layout](study))


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for name in sys.argv[1:]:
        take(name)
    update_page(PAGE, tables)
