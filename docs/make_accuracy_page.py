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
from matcheval.accuracy_prediction.tables import titles

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "accuracy-prediction.md"
KEPT = ROOT / "docs" / "accuracy"
SUITE = "shifts"
MIN_SETS = 8  # of an interval over subgroups
FITTED_ON = "Syn1"  # regressions on other groups are in the CSV files only
# In the CSV files only: two of three thresholds and of three class-wise methods, what a regression
# cannot tell from DoE, and the other measure of the discriminators.
LEFT_OUT = (
    "prediction_score_0.7", "prediction_score_0.8", "entropy", "classwise_doc", "classwise_ts",
    "disc_a_proxy",
)  # fmt: skip
FIGURES = {"errors": "errors-calibrated-Syn1", "protocol": "protocol"}
DECIMALS = 6


def take(study: str) -> None:
    """Copy a study's errors by group, and those of its figures that the page shows.

    Parameters
    ----------
    study : str
        Its name.
    """
    results = ROOT / "results" / study
    table = pd.read_parquet(results / "accuracy_prediction" / "errors" / f"{SUITE}.parquet")
    # Of parts of sets, the means over all sets.
    is_kept = (table["view"] == WHOLE) | (table["group"] == ALL)
    groups = table[is_kept & (table["subgroup"] == ALL)]
    groups.round(DECIMALS).to_csv(KEPT / f"{study}.csv", index=False)
    paired = results / "accuracy_prediction" / "differences" / f"{SUITE}.parquet"
    rows = pd.read_parquet(paired).query("group == @ALL").round(DECIMALS)
    rows.to_csv(KEPT / f"{study}-differences.csv", index=False)
    page = PAGE.read_text(encoding="utf-8")
    for name, figure in FIGURES.items():
        kept = KEPT / f"{study}-{name}.png"
        if f"(accuracy/{kept.name})" in page:
            source = results / "figures" / "accuracy_prediction" / SUITE / f"{figure}.png"
            shutil.copyfile(source, kept)


def errors(study: str) -> str:
    """Lay out a study's mean absolute errors as a table in Markdown.

    Parameters
    ----------
    study : str
        Its name.

    Returns
    -------
    str
        A row per method that gave any prediction, without a regression or by one on `FITTED_ON`,
        and a column per group of several other sets; percentage points.
    """
    found = pd.read_csv(KEPT / f"{study}.csv")
    texts = ["variant", "calibrated_on", "regressor"]
    found[texts] = found[texts].astype(object).fillna("")
    is_shown = found["calibrated_on"].isin(["", FITTED_ON]) & (found["protocol"] != LEAVE_ONE_OUT)
    is_shown &= ~found["method"].isin(LEFT_OUT)
    found = found[is_shown].sort_values("calibrated_on", kind="stable")
    sizes = found.groupby("group", sort=False)["n_sets"].max()
    sizes = sizes.drop([ALL, FITTED_ON], errors="ignore")
    n_sets = sizes[sizes > 1].sort_values(ascending=False, kind="stable")
    heads = [f"{name}, {n} sets" for name, n in n_sets.items()]
    lines = []
    for _, rows in found.groupby(["protocol", "regressor", "method", "variant"], sort=False):
        if not rows["n_sets"].any():
            continue
        by_group = rows.set_index("group")
        lines.append([*titles(rows[:1]), *(_error(by_group.loc[group]) for group in n_sets.index)])
    return table(["method", *heads], lines)


def _error(row: pd.Series) -> str:
    bounds = ", ".join(_points(row[f"mae_subgroups_{end}"]) for end in ("low", "high"))
    return _points(row["mae"]) + (f" [{bounds}]" if row["n_sets"] >= MIN_SETS else "")


def _points(value: float | None) -> str:
    return "" if value is None or pd.isna(value) else f"{100 * value:.1f}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        take(name)
    update_page(PAGE, errors)
