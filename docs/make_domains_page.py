"""Update docs/domain-generalization.md: `make_domains_page.py [STUDY ...]`.

Of every study named, whose results lie in `results/`, the table of results is taken into
docs/domains/. Then the page's tables are written from there.
"""

import sys
from pathlib import Path

import pandas as pd
from take_over import take_over

from matcheval.domain_generalization.layout import TITLES, by_domain, by_group, result_columns
from matcheval.domain_generalization.schemas import RESULTS
from matcheval.domain_generalization.selection import PER_RUN
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
    names = table.loc[table["design"] != "", "algorithm"].unique()
    columns = [TextColumn("Algorithm", [TITLES[name] for name in names], is_number=False)]
    for selection in table["selection"].unique():
        rows = table[(table["design"] != "") & (table["selection"] == selection)]
        cells = {column.head: column.cells for column in result_columns(rows)}
        *_, accuracy, gain, _, p_holm = cells
        said = dict(zip(cells["Algorithm"], zip(*(cells[k] for k in (accuracy, gain, p_holm)),
                    strict=True), strict=True))  # fmt: skip
        shown = [said[TITLES[name]] for name in names]
        title = selection.replace("_", " ")
        columns += [
            TextColumn(f"{title} (%)", [one[0] for one in shown]),
            TextColumn("gain over ERM (points)", [one[1] for one in shown]),
            TextColumn("p (Holm)", [one[2] for one in shown]),
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
    PAGE.write_text(take_over(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
