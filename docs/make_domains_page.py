"""Update docs/domain-generalization.md: `make_domains_page.py [STUDY ...]`.

Of every study named, whose results lie in `results/`, the table of results is taken into
docs/domains/. Then the page's tables are written from there.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
from take_over import update_page

from matcheval.domain_generalization.tables import PER_RUN, RESULTS, RUNS
from matcheval.io.text_tables import TextColumn, markdown

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "domain-generalization.md"
KEPT = ROOT / "docs" / "domains"
SELECTION = "source_validation" + PER_RUN  # as in DomainBed
COMPARED = {"pacs": "PACS", "digit-domains-real": "real digits"}
DECIMALS = 6


def copy_results(study: str) -> None:
    """Copy a study's results to docs/domains/, and count after which steps weights were kept.

    Parameters
    ----------
    study : str
        Its name.
    """
    folder = ROOT / "results" / study / "domain_generalization"
    table = RESULTS.read(folder / "results.parquet").to_pandas()
    table.round(DECIMALS).to_csv(KEPT / f"{study}.csv", index=False)
    if study in COMPARED:
        runs = RUNS.read(folder / "runs.parquet").to_pandas()
        steps = runs[runs["purpose"] != "selection"].groupby("best_step")["model"].count()
        steps.rename("trainings").to_csv(KEPT / f"{study}-steps.csv")


def read_results(study: str) -> pd.DataFrame:
    """Read a study's results from docs/domains/.

    Parameters
    ----------
    study : str
        Its name.
    """
    table = pd.read_csv(KEPT / f"{study}.csv")
    table["design"] = table["design"].astype(object).fillna("")
    return table


def gains_table() -> str:
    """Return a Markdown table of algorithms: average accuracies, and gains over ERM, by study."""
    columns: list[TextColumn] = []
    for study, title in COMPARED.items():
        table = read_results(study)
        shown = table[(table["design"] != "") & (table["selection"] == SELECTION)]
        _, _, algorithms, *_, accuracy, gain, _, _ = RESULTS.text_columns(shown)
        if columns and algorithms != columns[0]:
            raise ValueError(f"{study} has other algorithms: {algorithms.cells}")
        columns += [
            *([] if columns else [algorithms]),
            replace(accuracy, head=f"{title} (%)"),
            replace(gain, head="gain over ERM (points)"),
        ]
    return markdown(columns)


BLOCKS: dict[str, Callable[[], str]] = {"gains": gains_table}


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for name in sys.argv[1:]:
        copy_results(name)
    update_page(PAGE, lambda block: BLOCKS[block]())
