r"""Whether errors of predicted accuracies are those of a base that shows other scans: no timing.

    for scans in digits-sheets-1-5 digits-sheets-6-11; do
        snakemake --cores all --configfile studies/digits-shifts-disjoint.yaml \
            --config study=$scans 'accuracy_prediction={suites: {shifts: {base: '$scans',
            calibrations: [{fit: Syn1, predict: Syn2}, {fit: Syn1, predict: Syn2-others},
            {fit: Syn1-others, predict: Syn2}, {fit: Syn1-others, predict: Syn2-others}]}}}' \
            -- results/$scans/accuracy_prediction/predicted/shifts.parquet
    done
    cd results
    python ../benchmarks/base_scans.py digits-sheets-*/accuracy_prediction/predicted/shifts.parquet

Each half of the known writers' scans is the base once, and both halves are corrupted (Syn2) and
predicted: the base's own scans, and the others, whose class frequencies differ. Regressions are
fitted to Syn1 of the own scans, or of the others. Mean errors over 20 models and both bases, in
points; differences with Student's 95 % interval over the 8 corruptions.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from common import write_results

from matcheval.domain_generalization.results import mean_over_runs

ENDINGS = {"digits-sheets-1-5": "", "digits-sheets-6-11": "-others"}  # of groups, by their scans
METHODS = ("base_accuracy", "ac_temperature", "atc_mc", "cot", "cott", "cot_fitted", "nuclear_norm")


def errors_of(file: Path) -> pd.DataFrame:
    """Errors on Syn2 of one base, and whether sets show the scans of the base."""
    table = pd.read_parquet(file)
    is_shown = table["group"].str.startswith("Syn2") & (table["variant"] == "")
    found = table[is_shown & table["method"].isin(METHODS)]
    ending = ENDINGS[found["base"].iloc[0]]
    whose = {"": "", f"Syn1{ending}": "own"}
    fitted = found["calibrated_on"].map(lambda name: whose.get(name, "others"))
    return found.assign(own=found["group"] == f"Syn2{ending}", fitted=fitted)


def summaries(files: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Mean errors by method on the base's own scans and on others, and their difference."""
    errors = pd.concat(map(errors_of, files))
    means = 100 * errors.pivot_table("error", ["method", "fitted", "subgroup"], "own")
    for (method, fitted), rows in means.groupby(["method", "fitted"], sort=False):
        rise = mean_over_runs(rows[False] - rows[True], 0.95)  # a corruption is a run here
        yield {
            "method": method, "fitted_to": fitted,
            "own": round(rows[True].mean(), 1), "others": round(rows[False].mean(), 1),
            "difference": round(rise.mean, 1),
            "low": round(rise.low, 1), "high": round(rise.high, 1),
        }  # fmt: skip


if __name__ == "__main__":
    write_results("base_scans", list(summaries(map(Path, sys.argv[1:]))), "numpy")
