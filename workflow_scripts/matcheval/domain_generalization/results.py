"""Results: accuracies of the selected runs over seeds, compared with ERM."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.domain_generalization.plan import (
    REFUSED,
    SAME_AS_ERM,
    TRAINED,
    Block,
    Plan,
    without_each,
)
from matcheval.domain_generalization.settings import ERM, LEFT_OUT, ORACLE, SOURCE_VALIDATION
from matcheval.domain_generalization.tables import (
    ACCURACIES,
    AVERAGE,
    CURVES,
    DEFAULT,
    GAINS,
    MEAN,
    PER_RUN,
    PLAN,
    RESULTS,
    RUNS,
    SPREAD,
)
from matcheval.errors import ErrorCollector, InputError
from matcheval.predictions.files import read_predictions
from matcheval.statistics.intervals import check_level
from matcheval.statistics.multiple_tests import holm
from matcheval.study.trained_models import TestedModels

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Mean:
    """A mean over runs."""

    mean: float
    sd: float
    low: float
    high: float
    p: float


def mean_over_runs(values: npt.ArrayLike, level: float) -> Mean:
    """Compute the mean over runs with Student's interval."""
    from scipy.stats import t

    check_level(level)
    found = np.asarray(values, np.float64)
    n, mean = len(found), float(found.mean())
    if n < 2:
        return Mean(mean, math.nan, math.nan, math.nan, math.nan)
    sd = float(found.std(ddof=1))
    error = sd / math.sqrt(n)
    half = float(t.ppf((1 + level) / 2, n - 1)) * error
    p = float(2 * t.sf(abs(mean) / error, n - 1)) if error > 0 else float(mean == 0)
    return Mean(mean, sd, mean - half, mean + half, p)


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


def choose(scores: pd.DataFrame, *, per_run: bool = False) -> pd.DataFrame:
    """Choose a group of hyper-parameters for every algorithm and seed."""
    if per_run:
        ordered = scores.sort_values(["score", "group"], ascending=[False, True], kind="stable")
        chosen = ordered.drop_duplicates(["algorithm", "seed"])
    else:
        means = scores.groupby(["algorithm", "group"], sort=False)["score"].mean().reset_index()
        ordered = means.sort_values(["score", "group"], ascending=[False, True], kind="stable")
        best = ordered.drop_duplicates("algorithm")[["algorithm", "group"]]
        chosen = scores.merge(best, on=["algorithm", "group"])
    return _in_order(chosen, scores)


def defaults(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the default group of every algorithm, for every seed."""
    return _in_order(scores[scores["group"] == 0], scores)


def _in_order(chosen: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by algorithm, in the order of the scores, and by seed."""
    position = {name: i for i, name in enumerate(scores["algorithm"].unique())}
    rows = chosen[["algorithm", "seed", "group"]].assign(position=chosen["algorithm"].map(position))
    return rows.sort_values(["position", "seed"]).drop(columns="position").reset_index(drop=True)


_Score = Callable[[Block, pd.DataFrame, pd.DataFrame, pd.DataFrame], pd.DataFrame]


def chosen_runs(
    blocks: Sequence[Block], runs: pd.DataFrame, accuracies: pd.DataFrame, rules: Sequence[str]
) -> pd.DataFrame:
    """Select groups by every rule, and give the accuracies of the selected runs."""
    known = accuracies[["model", "dataset", "n", "accuracy"]]
    parts = []
    for block in blocks:
        own = _runs_of(runs, block.sources)
        targets = pd.DataFrame({"dataset": block.targets, "column": block.columns})
        tested = own.merge(known, on="model").merge(targets, on="dataset")
        for selection, chosen in _selected(block, runs, own, known, rules):
            found = chosen.merge(tested, on=["algorithm", "seed", "group"])
            parts.append(
                found.assign(
                    design=block.design, block=block.name, n_sources=len(block.sources),
                    selection=selection, same_as_erm=found["state"] == SAME_AS_ERM,
                )
            )  # fmt: skip
    names = [
        "design", "block", "n_sources", "selection", "algorithm", "same_as_erm", "seed", "group",
        "model", "dataset", "column", "n", "accuracy",
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)[names]


def _runs_of(runs: pd.DataFrame, sources: Sequence[str]) -> pd.DataFrame:
    return runs[(runs["sources"] == "+".join(sources)) & (runs["state"] != REFUSED)]


def _selected(
    block: Block, runs: pd.DataFrame, own: pd.DataFrame, known: pd.DataFrame, rules: Sequence[str]
) -> Iterator[tuple[str, pd.DataFrame]]:
    yield DEFAULT, defaults(own)
    for rule in rules:
        scores = _SCORES[rule](block, runs, own, known)
        if len(scores):
            yield rule, choose(scores)
            yield rule + PER_RUN, choose(scores, per_run=True)


def _source_validation(
    block: Block, runs: pd.DataFrame, own: pd.DataFrame, known: pd.DataFrame
) -> pd.DataFrame:
    """Accuracy on the validation parts of the sources."""
    return own.assign(score=own["validation_accuracy"])


def _oracle(
    block: Block, runs: pd.DataFrame, own: pd.DataFrame, known: pd.DataFrame
) -> pd.DataFrame:
    """Mean accuracy on the targets themselves: what no fair selection can use."""
    on_targets = known[known["dataset"].isin(block.targets)]
    means = on_targets.groupby("model")["accuracy"].mean().rename("score")
    return own.merge(means, on="model")


def _left_out(
    block: Block, runs: pd.DataFrame, own: pd.DataFrame, known: pd.DataFrame
) -> pd.DataFrame:
    """Mean over sources of the accuracy on a source of a model trained on the others."""
    parts = [
        _runs_of(runs, rest).merge(known[known["dataset"] == out], on="model")
        for out, rest in without_each(block.sources).items()
    ]
    if not parts:
        return own.iloc[:0].assign(score=[])
    keys = ["algorithm", "group", "seed"]
    means = pd.concat(parts).groupby(keys)["accuracy"].mean().rename("score")
    return own.merge(means, on=keys)


_SCORES: Mapping[str, _Score] = {
    SOURCE_VALIDATION: _source_validation,
    ORACLE: _oracle,
    LEFT_OUT: _left_out,
}


def tabulate_plan(plan: Plan) -> pd.DataFrame:
    """List the runs of a plan, so that a person can read what is trained and what is not."""
    rows = []
    for sources, runs in plan.runs.items():
        users = [block.name for block in plan.blocks if block.sources == sources]
        rows += [
            {
                "sources": "+".join(sources), "purpose": ", ".join(users) or "selection",
                "algorithm": run.group.algorithm, "group": run.group.number,
                "options": json.dumps(dict(run.group.options), sort_keys=True), "seed": run.seed,
                "state": run.state, "model": run.model, "note": run.note,
            }
            for run in runs
        ]  # fmt: skip
    return pd.DataFrame(rows, columns=PLAN.names)


def tabulate_curves(
    models: Sequence[str], histories: Sequence[str], epoch_steps: int
) -> pd.DataFrame:
    """Read the histories of trainings."""
    parts, problems = [], ErrorCollector()
    for model, file in zip(models, histories, strict=True):
        with problems.collected():
            try:
                history = pd.read_csv(file)
                parts.append(
                    pd.DataFrame(
                        {
                            "model": model,
                            "step": history["epoch"] * epoch_steps,
                            **{name: history[name] for name in CURVES.names[2:]},
                        }
                    )
                )
            except (OSError, ValueError, KeyError) as error:
                raise InputError(
                    f"not a readable history ({error})", file=file, remedy="Train the model again"
                ) from error
    problems.raise_any()
    return pd.concat(parts, ignore_index=True)[CURVES.names]


def tabulate_runs(plan: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Add the best evaluation of every training to the plan."""
    best = curves.sort_values(
        ["validation_accuracy", "step"], ascending=[False, True], kind="stable"
    ).drop_duplicates("model")
    found = best.set_index("model")
    runs = plan.assign(
        best_step=plan["model"].map(found["step"]).fillna(0).astype("int64"),
        validation_accuracy=plan["model"].map(found["validation_accuracy"]),
    )
    lacking = runs[(runs["state"] != REFUSED) & (runs["best_step"] == 0)]
    if len(lacking):
        raise InputError("has no history", file=str(lacking["model"].iloc[0]))
    return runs[RUNS.names]


def tabulate_accuracies(tested: Sequence[TestedModels], folder: str) -> pd.DataFrame:
    """Count the accuracies of the models on the sets that they are tested on."""
    rows, problems = [], ErrorCollector()
    for batch in tested:
        for model, dataset in product(batch.models, batch.datasets):
            with problems.collected():
                found = read_predictions(f"{folder}/{dataset}/{model}.parquet")
                n, right = len(found.label), int((found.label == found.prediction).sum())
                rows.append(
                    {
                        "model": model, "dataset": dataset, "n": n, "n_correct": right,
                        "accuracy": right / n,
                    }
                )  # fmt: skip
    problems.raise_any()
    return pd.DataFrame(rows, columns=ACCURACIES.names)


def counts(plan: pd.DataFrame) -> str:
    """Say how many trainings there are, for a note below the table."""
    trained = plan.loc[plan["state"] == TRAINED, "model"].nunique()
    refused = plan[plan["state"] == REFUSED].groupby("algorithm")["note"].first()
    text = f"{trained} trainings."
    for algorithm, note in refused.items():
        text += f" {algorithm} is not trained on a single set: {note}."
    return text
