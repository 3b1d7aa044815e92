"""Update docs/accuracy-prediction.md: `make_accuracy_page.py [STUDY ...]`.

Of every study named, whose results lie in `results/`, the errors that the page shows are
taken into docs/accuracy/. Then the page's tables are written from there.
"""

import sys
from pathlib import Path

import pandas as pd
from make_published_page import predictions
from take_over import table, update_page

from matcheval.accuracy_prediction.errors import ALL
from matcheval.accuracy_prediction.predicting import LEAVE_ONE_OUT, titles
from matcheval.accuracy_prediction.scoring import WHOLE

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "accuracy-prediction.md"
KEPT = ROOT / "docs" / "accuracy"
SUITE = "shifts"
SHOWN_GROUPS = ("Syn2", "PACS")
STUDIES = {"digits-shifts": "digits", "cifar10-shifts": "photographs"}
MIN_SETS = 8  # of an interval over subgroups
TESTED, FITTED_ON = "Syn2", "Syn1"  # regressions on other groups are in the CSV files only
# In the CSV files only: relatives of methods that are shown, and what is missing for most models.
LEFT_OUT = (
    "prediction_score_0.7", "prediction_score_0.8", "prediction_score_0.9", "doe", "entropy",
    "classwise_atc", "classwise_doc", "classwise_ts", "frechet", "frechet_reference", "mmd",
    "disc_auc", "disc_a_proxy", "dispersion", "gde", "mano", "rotation",
)  # fmt: skip
DECIMALS = 6


def take(study: str) -> None:
    """Copy a study's errors by group.

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


def errors() -> str:
    """Lay out both studies' mean absolute errors as a table in Markdown, in percentage points.

    A row per method without a regression, or with one on `FITTED_ON`; of each study, a column per
    group of several other sets.
    """
    columns, names = {}, {}
    for study, title in STUDIES.items():
        found = _read(study)
        is_shown = found["calibrated_on"].isin(["", FITTED_ON])
        is_shown &= (found["protocol"] != LEAVE_ONE_OUT) & ~found["method"].isin(LEFT_OUT)
        found = found[is_shown & found["group"].isin(SHOWN_GROUPS)]
        found = found.sort_values("calibrated_on", kind="stable")
        sizes = found.groupby("group", sort=False)["n_sets"].max()
        for group, n in sizes.sort_values(ascending=False, kind="stable").items():
            rows = found[found["group"] == group].set_index(["protocol", "method", "variant"])
            columns[f"{title}: {group}, {n} sets"] = rows.apply(_cell, axis=1)
            names |= dict(zip(rows.index, titles(rows.reset_index()), strict=True))
    lines = [[title, *(of.get(key, "") for of in columns.values())] for key, title in names.items()]
    return table(["method", *columns], lines)


def _cell(row: pd.Series) -> str:
    remarks = [f"{row[f'n_{what}']} {what}" for what in ("flagged", "missing") if row[f"n_{what}"]]
    if row["n_sets"] >= MIN_SETS:  # with an interval; flagged predictions are in the CSV files
        bounds = ", ".join(_points(row[f"mae_subgroups_{end}"]) for end in ("low", "high"))
        missing = [remark for remark in remarks if "missing" in remark]
        return " ".join([f"{_points(row['mae'])} [{bounds}]", *map("({})".format, missing)])
    return " ".join([_points(row["mae"]), *map("({})".format, remarks)])


def _read(study: str) -> pd.DataFrame:
    table, texts = pd.read_csv(KEPT / f"{study}.csv"), ["variant", "calibrated_on", "regressor"]
    table[texts] = table[texts].astype(object).fillna("")
    return table


def _points(value: float | None) -> str:
    return "" if value is None or pd.isna(value) else f"{100 * value:.1f}"


BLOCKS = {"errors": errors, "cifar10.1/prediction": predictions}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        take(name)
    update_page(PAGE, lambda block: BLOCKS[block]())
