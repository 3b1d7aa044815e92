"""Update docs/accuracy-prediction.md: `make_accuracy_page.py [STUDY ...]`.

Of every study named, whose results lie in `results/`, the errors and figures that the page shows
are taken into docs/accuracy/. Then the page's tables are written from there.
"""

import shutil
import sys
from pathlib import Path

import pandas as pd
from take_over import table, update_page

from matcheval.accuracy_prediction.errors import ALL
from matcheval.accuracy_prediction.predicting import LEAVE_ONE_OUT
from matcheval.accuracy_prediction.scoring import WHOLE
from matcheval.accuracy_prediction.tables import difference_columns, how, titles
from matcheval.io.text_tables import counted, markdown

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "docs" / "accuracy"
SUITE = "shifts"
FIGURES = {"errors": "errors-calibrated-Syn1", "protocol": "protocol"}
DECIMALS = 6


def take(study: str) -> None:
    """Copy a study's errors by group, and its figures.

    Parameters
    ----------
    study : str
        Its name.
    """
    results = ROOT / "results" / study
    table = pd.read_parquet(results / "accuracy_prediction" / "errors" / f"{SUITE}.parquet")
    groups = table[(table["view"] == WHOLE) & (table["subgroup"] == ALL)]
    groups.round(DECIMALS).to_csv(KEPT / f"{study}.csv", index=False)
    paired = results / "accuracy_prediction" / "differences" / f"{SUITE}.parquet"
    rows = pd.read_parquet(paired).round(DECIMALS)
    rows.to_csv(KEPT / f"{study}-differences.csv", index=False)
    for name, figure in FIGURES.items():
        source = results / "figures" / "accuracy_prediction" / SUITE / f"{figure}.png"
        shutil.copyfile(source, KEPT / f"{study}-{name}.png")


def errors(study: str) -> str:
    """Lay out a study's mean absolute errors as a table in Markdown.

    Parameters
    ----------
    study : str
        Its name.

    Returns
    -------
    str
        A row per method and way of predicting that gave any prediction; percentage points.
    """
    found = pd.read_csv(KEPT / f"{study}.csv")
    texts = ["variant", "calibrated_on", "regressor"]
    found[texts] = found[texts].astype(object).fillna("")
    found = found[found["protocol"] != LEAVE_ONE_OUT]
    sizes = found.groupby("group", sort=False)["n_sets"].max().drop(ALL)
    n_sets = sizes.sort_values(ascending=False, kind="stable")
    heads = [*(f"{name}, {counted(n, 'set')}" for name, n in n_sets.items()), "all of these"]
    groups = [*n_sets.index, ALL]
    lines = []
    is_flagged = "n_flagged" in found  # not in results of 0.2
    ways = ["protocol", "regressor", "calibrated_on", "method", "variant"]
    by_way = found.sort_values("calibrated_on", kind="stable")
    for _, rows in by_way.groupby(ways, sort=False):
        if not rows["n_sets"].any():
            continue
        by_group = rows.set_index("group")
        total = by_group.loc[ALL]
        cells = [how(total), *titles(rows[:1])]
        cells += [_points(by_group["mae"].get(group)) for group in groups]
        cells += [
            f"[{_points(total[f'mae_{of}_low'])}, {_points(total[f'mae_{of}_high'])}]"
            for of in ("subgroups", "models")
        ]
        if is_flagged:
            cells.append(f"{_points(total['mae_unflagged'])} ({total['n_unflagged']:.0f})")
            cells.append(f"{total['n_flagged']:.0f}")
        lines.append(cells)
    head = ["predicted from", "method", *heads, "over subgroups", "over models"]
    further = ["flagged by none (n)", "flagged"] if is_flagged else []
    return table([*head, *further], lines, n_texts=2)


def differences(study: str) -> str:
    """Lay out the paired differences of a study's errors over all sets as a table in Markdown.

    Parameters
    ----------
    study : str
        Its name.

    Returns
    -------
    str
        By way of predicting, every method beside the one with the lowest error.
    """
    found = pd.read_csv(KEPT / f"{study}-differences.csv", keep_default_na=False, na_values={
        name: [""] for name in ("difference", "difference_low", "difference_high")
    })  # fmt: skip
    shown = (found["group"] == ALL) & (found["protocol"] != LEAVE_ONE_OUT)
    return markdown(difference_columns(found[shown]))


def block(name: str) -> str:
    """Return the table that a block names: a study, or `STUDY/differences`."""
    study, _, kind = name.partition("/")
    return differences(study) if kind else errors(study)


def _points(value: float | None) -> str:
    return "" if value is None or pd.isna(value) else f"{100 * value:.1f}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        take(name)
    update_page(ROOT / "docs" / "accuracy-prediction.md", block)
