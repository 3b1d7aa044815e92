"""How far recommended accuracies are from the truth, on the sets of studies: no timing.

    python benchmarks/recommendation.py PREDICTED ...

PREDICTED is `results/<study>/accuracy_prediction/predicted/<suite>.parquet`. Of each model and set,
the direct predictions are given to `recommend`, which sees no truth. By group of sets: errors of
ATC-MC, in points, where it is recommended and where nothing is, and beside them those of the base's
accuracy (*unchanged*). The rule was chosen on `digits-shifts`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from common import write_results

from matcheval.accuracy_prediction.errors import ALL
from matcheval.accuracy_prediction.predicting import DIRECT
from matcheval.accuracy_prediction.recommendation import recommend
from matcheval.accuracy_prediction.scoring import WHOLE

METHODS = ("atc_mc", "cott", "ac_temperature")
UNCHANGED = "base_accuracy"


def errors_of(file: Path) -> pd.DataFrame:
    """Errors in points of a model on a set, with what is recommended."""
    table = pd.read_parquet(file)
    direct = table[
        (table["protocol"] == DIRECT) & table["method"].isin([*METHODS, UNCHANGED])
        & (table["variant"] == "") & (table["view"] == WHOLE)
    ]  # fmt: skip
    direct = direct.assign(
        target=direct["dataset"], title=direct["method"],
        predicted_low=float("nan"), predicted_high=float("nan"),
    )  # fmt: skip
    found = []
    for _, rows in direct.groupby(["model", "dataset"], sort=False):
        given = rows[rows["method"] != UNCHANGED].fillna({"reason": ""})
        (advice,) = recommend(given.to_dict("records"))
        error = 100 * rows.set_index("method")["error"]
        found.append(
            {
                "group": rows["group"].iloc[0],
                "recommended": "ATC-MC" if advice.method else "none",
                "error": error["atc_mc"],
                "unchanged": error[UNCHANGED],
            }
        )
    return pd.DataFrame(found)


def summaries(file: Path) -> Iterator[dict[str, Any]]:
    """Errors over all cases of a study, and over those of each group of sets."""
    errors = errors_of(file)
    for group, of_group in [(ALL, errors), *errors.groupby("group", sort=False)]:
        for recommended, cases in of_group.groupby("recommended"):
            yield {
                "study": file.parts[-4], "group": group, "recommended": recommended,
                "cases": len(cases),
                "mean_error": cases["error"].mean().round(1),
                "median_error": cases["error"].median().round(1),
                "error_90_percent": cases["error"].quantile(0.9).round(1),
                "unchanged": cases["unchanged"].mean().round(1),
            }  # fmt: skip


if __name__ == "__main__":
    rows = [row for file in map(Path, sys.argv[1:]) for row in summaries(file)]
    write_results("recommendation", rows, "numpy")
