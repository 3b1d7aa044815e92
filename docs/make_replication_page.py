"""Update docs/replication.md: `make_replication_page.py [STUDY ...]`.

Of every study named, whose results lie in `results/`, fits, average changes and the comparison with
the paper are taken into docs/replication/. Then the page's tables are written from there.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
from take_over import update_page

from matcheval.io.text_tables import TextColumn, markdown
from matcheval.replication.tables import CHANGES, FITS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "replication.md"
KEPT = ROOT / "docs" / "replication"
DECIMALS = 6
# By study, the tables that are kept: name of the file, and tables below the study's folder.
TABLES = {
    "recht-cifar10": {
        "comparison": ["published_values/comparison"],
        "fits": ["replication/v4/top1.fits"],
    },
    "recht-imagenet": {
        "comparison": ["published_values/comparison"],
        "fits": [f"replication/matched-frequency/top{k}.fits" for k in (1, 5)],
        "changes": ["replication/changes"],
    },
    "recht-revisions": {"changes": ["replication/changes"]},
}
FITTED = {"recht-cifar10": "CIFAR-10.1 v4", "recht-imagenet": "MatchedFrequency"}
NEW_SETS = {
    "matched-frequency": "MatchedFrequency", "threshold": "Threshold0.7", "top-images": "TopImages",
}  # fmt: skip


def csv_text(tables: list[pd.DataFrame]) -> str:
    """Concatenate tables of the same columns, and return them rounded as CSV text."""
    return pd.concat(tables).round(DECIMALS).to_csv(index=False)


def copy_results(study: str) -> None:
    """Copy a study's tables (`TABLES`) from its results to docs/replication/.

    Parameters
    ----------
    study : str
        Its name.
    """
    for name, paths in TABLES[study].items():
        files = [ROOT / "results" / study / f"{path}.parquet" for path in paths]
        text = csv_text([pd.read_parquet(file) for file in files])
        (KEPT / f"{study}-{name}.csv").write_text(text, encoding="utf-8")


def fits_table() -> str:
    """Return a Markdown table of the fits of both studies for k = 1, by new set and scale."""
    tables = [pd.read_csv(KEPT / f"{study}-fits.csv").assign(study=study) for study in FITTED]
    rows = pd.concat(tables, ignore_index=True).query("top == 1").reset_index(drop=True)
    texts = ["left_out", "extreme"]
    rows[texts] = rows[texts].astype(object).fillna("")
    by_head = {column.head.split(" [")[0]: column for column in FITS.text_columns(rows)}
    sets = [FITTED[study] for study in rows["study"]]
    shown = ["Fit", "Slope", "Slope over families", "Models"]
    return markdown(
        [
            TextColumn("New set", sets, is_number=False),
            *(by_head[name] for name in shown),
        ]
    )


def changes_table() -> str:
    """Return a Markdown table of average changes of accuracy on ImageNetV2 for k = 1."""
    rows = pd.read_csv(KEPT / "recht-imagenet-changes.csv").query("top == 1").reset_index(drop=True)
    by_head = {column.head: column for column in CHANGES.text_columns(rows)}
    sets = [NEW_SETS[pair] for pair in rows["pair"]]
    shown = {
        "Mean original accuracy (%)": "Original (%)", "Mean new accuracy (%)": "New (%)",
        "Average change": "Change", "Differ": "Differ", "Spearman's ρ": "Spearman's ρ",
    }  # fmt: skip
    return markdown(
        [
            TextColumn("New set", sets, is_number=False),
            *(replace(by_head[name], head=head) for name, head in shown.items()),
        ]
    )


BLOCKS: dict[str, Callable[[], str]] = {"fits": fits_table, "changes": changes_table}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        copy_results(name)
    update_page(PAGE, lambda block: BLOCKS[block]())
