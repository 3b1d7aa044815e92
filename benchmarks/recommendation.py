"""How far recommended accuracies are from the truth, on the sets of studies: no timing.

    python benchmarks/recommendation.py PREDICTED ...

PREDICTED is `results/<study>/accuracy_prediction/predicted/<suite>.parquet`. Of each model and set,
the direct predictions are given to `recommend`, which sees no truth. Errors of ATC-MC, in points,
where it is recommended and where nothing is. The rule was chosen on `digits-shifts`.
"""

import sys
from pathlib import Path

import pandas as pd
from common import write_results

from matcheval.accuracy_prediction.predicting import DIRECT
from matcheval.accuracy_prediction.recommendation import recommend
from matcheval.accuracy_prediction.scoring import WHOLE

METHODS = ("atc_mc", "cott", "ac_temperature")


def errors_of(file: Path) -> dict[str, list[float]]:
    """Errors of ATC-MC in points, by what is recommended."""
    table = pd.read_parquet(file)
    direct = table[
        (table["protocol"] == DIRECT) & table["method"].isin(METHODS)
        & (table["variant"] == "") & (table["view"] == WHOLE)
    ]  # fmt: skip
    direct = direct.assign(
        target=direct["dataset"], title=direct["method"],
        predicted_low=float("nan"), predicted_high=float("nan"),
    )  # fmt: skip
    errors: dict[str, list[float]] = {"ATC-MC": [], "none": []}
    for _, rows in direct.groupby(["model", "dataset"], sort=False):
        (advice,) = recommend(rows.fillna({"reason": ""}).to_dict("records"))
        of_first = rows.set_index("method")["error"]["atc_mc"]
        errors["ATC-MC" if advice.method else "none"].append(100 * float(of_first))
    return errors


if __name__ == "__main__":
    write_results(
        "recommendation",
        [
            {
                "study": file.parts[-4], "recommended": name, "cases": len(found),
                "mean_error": round(pd.Series(found).mean(), 1),
                "median_error": round(pd.Series(found).median(), 1),
                "error_90_percent": round(pd.Series(found).quantile(0.9), 1),
            }
            for file in map(Path, sys.argv[1:])
            for name, found in errors_of(file).items()
        ],
        "numpy",
    )  # fmt: skip
