"""How far recommended accuracies are from the truth, on the sets of a study: no timing.

    python benchmarks/recommendation.py PREDICTED

PREDICTED is `results/<study>/accuracy_prediction/predicted/<suite>.parquet`. Of each model and set,
the direct predictions are given to `recommend`, which sees no truth. Errors of ATC-MC, in points,
where it is recommended and where nothing is.
"""

import sys

import pandas as pd
from common import write_results

from matcheval.accuracy_prediction.recommendation import recommend

METHODS = ("atc_mc", "cott", "ac_temperature")

if __name__ == "__main__":
    table = pd.read_parquet(sys.argv[1])
    direct = table[(table["protocol"] == "direct") & table["method"].isin(METHODS)]
    direct = direct[direct["variant"] == ""].assign(
        target=direct["dataset"], title=direct["method"]
    )
    direct = direct.assign(predicted_low=float("nan"), predicted_high=float("nan"))
    errors: dict[bool, list[float]] = {True: [], False: []}
    for _, rows in direct.groupby(["model", "dataset"], sort=False):
        (advice,) = recommend(rows.fillna({"reason": ""}).to_dict("records"))
        of_first = rows.set_index("method")["error"]["atc_mc"]
        errors[bool(advice.method)].append(100 * float(of_first))
    write_results(
        "recommendation",
        [
            {
                "recommended": "ATC-MC" if is_one else "none", "cases": len(found),
                "mean_error": round(pd.Series(found).mean(), 1),
                "median_error": round(pd.Series(found).median(), 1),
                "error_90_percent": round(pd.Series(found).quantile(0.9), 1),
            }
            for is_one, found in errors.items()
        ],
        "numpy",
    )  # fmt: skip
