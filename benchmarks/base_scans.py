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
fitted to Syn1 of the base's scans. Mean errors over 20 models and both halves, in points;
differences with Student's 95 % interval over the 8 corruptions.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from common import write_results
from scipy.stats import t

GROUPS = {"digits-sheets-1-5": "", "digits-sheets-6-11": "-others"}  # endings of their groups
METHODS = ("base_accuracy", "ac_temperature", "atc_mc", "cot", "cott", "cot_fitted", "nuclear_norm")


def errors_of(file: Path) -> pd.DataFrame:
    """Errors on Syn2 of one base, with whether the set shows the base's scans."""
    table = pd.read_parquet(file)
    own = GROUPS[table["base"].iloc[0]]
    is_shown = table["group"].str.startswith("Syn2") & (table["variant"] == "")
    is_shown &= table["calibrated_on"].isin(["", f"Syn1{own}"]) & table["method"].isin(METHODS)
    return table[is_shown].assign(own=table["group"] == f"Syn2{own}")


def summaries(files: Iterator[Path]) -> Iterator[dict[str, Any]]:
    """Mean errors by method on the base's own scans and on others, and their difference."""
    errors = pd.concat(map(errors_of, files))
    means = 100 * errors.pivot_table("error", ["method", "subgroup"], "own")
    for method in METHODS:
        other, own = means.loc[method][False], means.loc[method][True]
        rise = other - own
        half = t.ppf(0.975, len(rise) - 1) * rise.sem()
        yield {
            "method": method, "own": round(own.mean(), 1), "others": round(other.mean(), 1),
            "difference": round(rise.mean(), 1),
            "low": round(rise.mean() - half, 1), "high": round(rise.mean() + half, 1),
        }  # fmt: skip


if __name__ == "__main__":
    write_results("base_scans", list(summaries(map(Path, sys.argv[1:]))), "numpy")
