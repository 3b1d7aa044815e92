"""Update docs/accuracy-prediction.md: `make_accuracy_page.py [STUDY ...]`.

Of every study named, whose results lie in `results/`, the errors and figures that the page shows
are taken into docs/accuracy/. Then the page's tables are written from there.
"""

import shutil
import sys
from itertools import chain
from pathlib import Path

import pandas as pd
from take_over import table, update_page

from matcheval.accuracy_prediction.errors import ALL
from matcheval.accuracy_prediction.predicting import CALIBRATED, LEAVE_ONE_OUT
from matcheval.accuracy_prediction.scoring import WHOLE
from matcheval.accuracy_prediction.tables import titles

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "accuracy-prediction.md"
KEPT = ROOT / "docs" / "accuracy"
SUITE = "shifts"
MIN_SETS = 8  # of an interval over subgroups
TESTED, FITTED_ON = "Syn2", "Syn1"  # regressions on other groups are in the CSV files only
# In the CSV files only: two of three thresholds and of three class-wise methods, what a regression
# cannot tell from DoE, and the other measure of the discriminators.
LEFT_OUT = (
    "prediction_score_0.7", "prediction_score_0.8", "entropy", "classwise_doc", "classwise_ts",
    "disc_a_proxy",
)  # fmt: skip
FIGURE = "errors-calibrated-Syn1"
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
    # Of parts of sets, the means over the corruptions that the page shows.
    is_kept = (table["view"] == WHOLE) | (table["group"] == TESTED)
    groups = table[is_kept & (table["subgroup"] == ALL)]
    groups.round(DECIMALS).to_csv(KEPT / f"{study}.csv", index=False)
    paired = results / "accuracy_prediction" / "differences" / f"{SUITE}.parquet"
    # Corruptions and other sets are never pooled.
    rows = pd.read_parquet(paired).dropna(subset="difference_low").round(DECIMALS)
    rows = rows[rows["protocol"] != LEAVE_ONE_OUT]
    is_one = rows.groupby("calibrated_on")["group"].transform("nunique") == 1
    rows[(rows["group"] != ALL) | is_one].to_csv(KEPT / f"{study}-differences.csv", index=False)
    source = results / "figures" / "accuracy_prediction" / SUITE / f"{FIGURE}.png"
    if f"(accuracy/{study}-errors.png)" in PAGE.read_text(encoding="utf-8"):
        shutil.copyfile(source, KEPT / f"{study}-errors.png")


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
        and a column per group of several other sets; percentage points. Those of many sets have a
        second column, over the cases in which no regression is flagged.
    """
    found = _read(study)
    is_shown = found["calibrated_on"].isin(["", FITTED_ON]) & (found["protocol"] != LEAVE_ONE_OUT)
    is_shown &= ~found["method"].isin(LEFT_OUT)
    found = found[is_shown].sort_values("calibrated_on", kind="stable")
    sizes = found.groupby("group", sort=False)["n_sets"].max()
    sizes = sizes.drop([ALL, FITTED_ON], errors="ignore")
    n_sets = sizes[sizes > 1].sort_values(ascending=False, kind="stable")
    heads = []
    for name, n in n_sets.items():
        heads.append(f"{name}, {n} sets")
        if n >= MIN_SETS:
            of_group = found[(found["group"] == name) & (found["protocol"] == CALIBRATED)]
            heads.append(f"none flagged, {of_group['n_unflagged'].max()} cases")
    lines = []
    for _, rows in found.groupby(["protocol", "regressor", "method", "variant"], sort=False):
        if not rows["n_sets"].any():
            continue
        by_group = rows.set_index("group")
        cells = (_cells(by_group.loc[group], n) for group, n in n_sets.items())
        lines.append([*titles(rows[:1]), *chain.from_iterable(cells)])
    return table(["method", *heads], lines)


def disjoint() -> str:
    """Lay out errors of regressions that were fitted on the tested images, and on others."""
    columns, names = {}, {}
    for study, title in (("digits-shifts", "digits"), ("cifar10-shifts", "photographs")):
        found = _read(f"{study}-disjoint")
        is_shown = (found["protocol"] == CALIBRATED) & ~found["method"].isin(LEFT_OUT)
        found = found[is_shown & (found["n_models"] > 0)]
        for fitted, tested in (("Syn1", "Syn2"), ("Syn2", "Syn1")):
            rows = found[found["group"] == tested].set_index("calibrated_on")
            both = [rows.loc[on].set_index("method")["mae"] for on in (fitted, f"{fitted}-others")]
            head = f"{title}, {fitted} → {tested}"
            columns[head] = both
            names |= dict(zip(rows["method"], titles(rows), strict=True))
    lines = [
        [title, *(_both(method, *of) for of in columns.values())] for method, title in names.items()
    ]
    return table(["method", *columns], lines)


def _both(method: str, same: pd.Series, other: pd.Series) -> str:
    if method not in same.index:
        return ""
    rise = f"{100 * (other[method] - same[method]):+.1f}".replace("-", "−")
    return f"{_points(same[method])} → {_points(other[method])} ({rise})"


def _read(study: str) -> pd.DataFrame:
    table, texts = pd.read_csv(KEPT / f"{study}.csv"), ["variant", "calibrated_on", "regressor"]
    table[texts] = table[texts].astype(object).fillna("")
    return table


def _cells(row: pd.Series, n_sets: int) -> list[str]:
    missing = f" ({row['n_missing']} missing)" if row["n_missing"] else ""
    if n_sets < MIN_SETS:
        flagged = f" ({row['n_flagged']} flagged)" if row["n_flagged"] else ""
        return [_points(row["mae"]) + flagged + missing]
    bounds = ", ".join(_points(row[f"mae_subgroups_{end}"]) for end in ("low", "high"))
    unflagged = _points(row["mae_unflagged"]) if row["protocol"] == CALIBRATED else ""
    return [f"{_points(row['mae'])} [{bounds}]{missing}", unflagged]


def _points(value: float | None) -> str:
    return "" if value is None or pd.isna(value) else f"{100 * value:.1f}"


def block(name: str) -> str:
    """Return the table of a block of the page."""
    return disjoint() if name == "disjoint" else errors(name)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        take(name)
    update_page(PAGE, block)
