"""Update docs/accuracy-prediction.md: `make_accuracy_page.py [STUDY ...]`.

Of every study named, whose results lie in `results/`, the errors that the page shows are
taken into docs/accuracy/. Then the page's tables are written from there.
"""

import sys
from pathlib import Path

import pandas as pd
from make_published_page import predictions_table
from take_over import markdown_table, update_page

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


def copy_results(study: str) -> None:
    """Copy a study's errors of predicted accuracies, by group, from results to docs/accuracy/.

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


def errors_table() -> str:
    """Lay out mean absolute errors of both studies as a Markdown table, in percentage points.

    A row per method without a regression, or with one on `FITTED_ON`; of each study, a column per
    group of several other sets.
    """
    columns, names = {}, {}
    for study, title in STUDIES.items():
        errors = _read_errors(study)
        is_shown = errors["calibrated_on"].isin(["", FITTED_ON])
        is_shown &= (errors["protocol"] != LEAVE_ONE_OUT) & ~errors["method"].isin(LEFT_OUT)
        errors = errors[is_shown & errors["group"].isin(SHOWN_GROUPS)]
        errors = errors.sort_values("calibrated_on", kind="stable")
        sizes = errors.groupby("group", sort=False)["n_sets"].max()
        for group, n in sizes.sort_values(ascending=False, kind="stable").items():
            rows = errors[errors["group"] == group].set_index(["protocol", "method", "variant"])
            columns[f"{title}: {group}, {n} sets"] = rows.apply(_error_cell, axis=1)
            names |= dict(zip(rows.index, titles(rows.reset_index()), strict=True))
    lines = [
        [title, *(cells.get(key, "") for cells in columns.values())] for key, title in names.items()
    ]
    return markdown_table(["method", *columns], lines)


def _error_cell(row: pd.Series) -> str:
    remarks = [f"{row[f'n_{what}']} {what}" for what in ("flagged", "missing") if row[f"n_{what}"]]
    if row["n_sets"] >= MIN_SETS:  # with an interval; flagged predictions are in the CSV files
        bounds = ", ".join(_format_points(row[f"mae_subgroups_{end}"]) for end in ("low", "high"))
        missing = [remark for remark in remarks if "missing" in remark]
        return " ".join([f"{_format_points(row['mae'])} [{bounds}]", *map("({})".format, missing)])
    return " ".join([_format_points(row["mae"]), *map("({})".format, remarks)])


def _read_errors(study: str) -> pd.DataFrame:
    table, texts = pd.read_csv(KEPT / f"{study}.csv"), ["variant", "calibrated_on", "regressor"]
    table[texts] = table[texts].astype(object).fillna("")
    return table


def _format_points(value: float | None) -> str:
    return "" if value is None or pd.isna(value) else f"{100 * value:.1f}"


BLOCKS = {"errors": errors_table, "cifar10.1/prediction": predictions_table}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        copy_results(name)
    update_page(PAGE, lambda block: BLOCKS[block]())
