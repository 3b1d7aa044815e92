"""Results: accuracies of the selected runs over seeds, compared with ERM."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from matcheval.domain_generalization.comparison import mean_over_runs
from matcheval.domain_generalization.schemas import GAINS, RESULTS, SPREAD
from matcheval.domain_generalization.settings import ERM
from matcheval.statistics.significance import holm

MEAN, AVERAGE = "mean", "average"  # the column of all sets; the block of all blocks of a design
_BLOCK = ["design", "block", "n_sources", "selection"]


def tabulate_results(chosen: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Summarise accuracies over runs, per group of sets and over all sets."""
    rows = [
        row
        for _, each in _by_run(chosen).groupby([*_BLOCK, "column"], sort=False)
        for row in _compared(each, confidence)
    ]
    return pd.DataFrame(rows, columns=RESULTS.names)


def _by_run(chosen: pd.DataFrame) -> pd.DataFrame:
    """A row per run and column, with the mean over its sets; and per run and design."""
    run = [*_BLOCK, "algorithm", "same_as_erm", "seed", "group"]
    aggregated = {"accuracy": ("accuracy", "mean"), "n_sets": ("dataset", "size")}
    over_all = chosen.groupby(run, sort=False).agg(**aggregated).reset_index()
    over_all["column"] = MEAN
    several = chosen[chosen.groupby([*_BLOCK])["column"].transform("nunique") > 1]
    by_column = several.groupby([*run, "column"], sort=False).agg(**aggregated).reset_index()
    parts = [by_column, over_all]
    designed = over_all[over_all["design"] != ""]
    if len(designed):
        keys = ["design", "n_sources", "selection", "algorithm", "same_as_erm", "seed", "column"]
        averages = designed.groupby(keys, sort=False).agg(
            accuracy=("accuracy", "mean"), n_sets=("n_sets", "sum"),
            group=("group", lambda groups: " ".join(map(str, groups))),
        )  # fmt: skip
        parts.append(averages.reset_index().assign(block=AVERAGE))
    return pd.concat(parts, ignore_index=True)


def _compared(each: pd.DataFrame, confidence: float) -> Iterator[dict[str, object]]:
    """Compare the algorithms in one column of one block."""
    by_seed = each.pivot_table(index="seed", columns="algorithm", values="accuracy")
    first = each.iloc[0]
    algorithms = list(dict.fromkeys(each["algorithm"]))
    gains = {
        name: mean_over_runs((by_seed[name] - by_seed[ERM]).dropna(), confidence)
        for name in algorithms
    }
    same = dict(zip(each["algorithm"], each["same_as_erm"], strict=True))
    p = [math.nan if name == ERM or same[name] else gains[name].p for name in algorithms]
    for name, own_p, adjusted in zip(algorithms, p, holm(p), strict=True):
        over = mean_over_runs(by_seed[name].dropna(), confidence)
        of_name = each[each["algorithm"] == name].sort_values("seed")
        yield {
            **{key: first[key] for key in (*_BLOCK, "column")},
            "algorithm": name, "same_as_erm": same[name], "n_sets": int(of_name["n_sets"].iloc[0]),
            "groups": _text(of_name["group"]), "n_runs": len(of_name),
            "mean": over.mean, "sd": over.sd, "low": over.low, "high": over.high,
            "gain": gains[name].mean, "gain_low": gains[name].low, "gain_high": gains[name].high,
            "p": own_p, "p_holm": adjusted, "confidence": confidence,
        }  # fmt: skip


def _text(groups: "pd.Series[Any]") -> str:
    distinct = list(dict.fromkeys(map(str, groups)))
    return distinct[0] if len(distinct) == 1 else ", ".join(map(str, groups))


def tabulate_gains(chosen: pd.DataFrame) -> pd.DataFrame:
    """Compare algorithms with ERM on every set (Sun et al. 2024, Figure 5A)."""
    keys = [*_BLOCK, "dataset", "column"]
    means = chosen.groupby([*keys, "algorithm"], sort=False)["accuracy"].mean().reset_index()
    erm = means[means["algorithm"] == ERM].drop(columns="algorithm")
    both = means[means["algorithm"] != ERM].merge(erm, on=keys, suffixes=("", "_erm"))
    return both.assign(gain=both["accuracy"] - both["accuracy_erm"])[GAINS.names]


def tabulate_spread(results: pd.DataFrame) -> pd.DataFrame:
    """Tabulate how far algorithms, and runs of an algorithm, lie apart (Sun et al. 2024, A.2.3)."""
    rows = []
    for key, each in results[results["column"] == MEAN].groupby(_BLOCK, sort=False):
        own = each[~each["same_as_erm"]]
        means = own["mean"]
        rows.append(
            {
                **dict(zip(_BLOCK, key, strict=True)),
                "n_algorithms": len(own),
                "sd_algorithms": float(means.std(ddof=1)) if len(own) > 1 else math.nan,
                "range_algorithms": float(means.max() - means.min()),
                "sd_runs": float(np.sqrt((own["sd"] ** 2).mean(skipna=False))),
                "erm": float(own.loc[own["algorithm"] == ERM, "mean"].iloc[0]),
            }
        )
    return pd.DataFrame(rows, columns=SPREAD.names)


def only(results: pd.DataFrame, selection: str, design: str) -> pd.DataFrame:
    """Return the results of one selection, of the blocks of one design."""
    return results[(results["selection"] == selection) & (results["design"] == design)]
