"""What trainings have given: their runs and accuracies, selected and compared with ERM."""

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.accuracy_prediction.predicting import LEAVE_ONE_OUT, predict_accuracies
from matcheval.accuracy_prediction.scoring import SCORES
from matcheval.domain_generalization import plan as planning
from matcheval.domain_generalization import tables
from matcheval.domain_generalization.figures import draw_scores
from matcheval.domain_generalization.plan import ERM, FRECHET, ORACLE, REFUSED, Block
from matcheval.errors import ErrorCollector, InputError
from matcheval.figures.style import save_figure
from matcheval.io.files import readable
from matcheval.predictions.files import read_predictions
from matcheval.statistics.intervals import holm
from matcheval.statistics.lines import linear_correlation, rank_correlations
from matcheval.study.catalogue import TestedModels

_NOTE = (
    "Accuracies are means over sets, ± standard deviations over runs (n - 1). Gains are paired by "
    "seed. A group that is selected among several favours an algorithm over ERM, which has one."
)

_NOTE_ON_SCORES = (
    "Base: validation parts of the sources. Reference: their training parts. Each set is predicted "
    "by the line through all others; means over runs."
)

_BLOCK = tables.BLOCK_COLUMNS[1:]  # without the design: blocks of designs are not scored
_AGAIN = "Train the model again"

# --- what trainings and inference have written


def tabulate_curves(
    models: Sequence[str], histories: Sequence[str], epoch_steps: int
) -> pd.DataFrame:
    """Read the histories of trainings as one table of learning curves."""
    parts, problems = [], ErrorCollector()
    for model, file in zip(models, histories, strict=True):
        with problems.collected(), readable(file, "a readable history", KeyError, remedy=_AGAIN):
            history = pd.read_csv(file)
            steps = history["epoch"] * epoch_steps
            parts.append(history.assign(model=model, step=steps)[tables.CURVES.names])
    problems.raise_any()
    return pd.concat(parts, ignore_index=True)


def tabulate_runs(plan: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Add the step and accuracy of each training's best evaluation to the plan."""
    best = _keep_highest(curves, "validation_accuracy", "step", ["model"]).set_index("model")
    runs = plan.assign(
        best_step=plan["model"].map(best["step"]).fillna(0).astype("int64"),
        validation_accuracy=plan["model"].map(best["validation_accuracy"]),
    )
    lacking = runs[(runs["state"] != REFUSED) & (runs["best_step"] == 0)]
    if len(lacking):
        raise InputError("has no history", file=str(lacking["model"].iloc[0]))
    return runs[tables.RUNS.names]


def tabulate_accuracies(tested: Sequence[TestedModels], folders: Sequence[Path]) -> pd.DataFrame:
    """Read predictions, and compute the accuracies of models on the sets they are tested on."""
    rows, problems = [], ErrorCollector()
    for batch, folder in zip(tested, folders, strict=True):
        for model, dataset in product(batch.models, batch.datasets):
            with problems.collected():
                predictions = read_predictions(folder / dataset / f"{model}.parquet")
                is_right = predictions.label == predictions.prediction
                n, n_correct = len(is_right), int(is_right.sum())
                rows.append((model, dataset, n, n_correct, n_correct / n))
    problems.raise_any()
    return pd.DataFrame(rows, columns=tables.ACCURACIES.names)


def _keep_highest(table: pd.DataFrame, value: str, then: str, by: list[str]) -> pd.DataFrame:
    """Keep the row with the highest value per key; among equals, that with the lowest `then`."""
    ordered = table.sort_values([value, then], ascending=[False, True], kind="stable")
    return ordered.drop_duplicates(by)


# --- selection of groups of hyper-parameters


def choose_runs(
    blocks: Sequence[Block], runs: pd.DataFrame, accuracies: pd.DataFrame, rules: Sequence[str]
) -> pd.DataFrame:
    """Select hyper-parameters by each rule; return the selected runs' accuracies on all targets."""
    tested_sets = accuracies[["model", "dataset", "n", "accuracy"]]
    parts = []
    for block in blocks:
        block_runs = _runs_trained_on(runs, block.sources)
        targets = pd.DataFrame({"dataset": block.targets, "column": block.columns})
        tested = block_runs.merge(tested_sets, on="model").merge(targets, on="dataset")
        selected = {tables.DEFAULT: _sort_runs(block_runs[block_runs["group"] == 0], block_runs)}
        for rule in rules:
            scores = _score_runs(rule, block, runs, tested_sets)
            if len(scores):
                selected[rule + tables.PER_RUN] = choose_groups(scores, per_run=True)
                selected[rule] = choose_groups(scores)
        for selection, chosen in selected.items():
            runs_on_targets = chosen.merge(tested, on=["algorithm", "seed", "group"])
            parts.append(
                runs_on_targets.assign(
                    design=block.design, block=block.name, n_sources=len(block.sources),
                    selection=selection,
                    same_as_erm=runs_on_targets["state"] == planning.SAME_AS_ERM,
                )
            )  # fmt: skip
    names = [
        *tables.BLOCK_COLUMNS, "algorithm", "same_as_erm", "seed", "group", "model", "dataset",
        "column", "n", "accuracy",
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)[names]


def read_and_choose_runs(
    blocks: Sequence[Block], runs: Path, accuracies: Path, rules: Sequence[str]
) -> pd.DataFrame:
    """Read the tables of runs and accuracies, and apply `choose_runs` to them."""
    tested = tables.ACCURACIES.read(accuracies).to_pandas()
    return choose_runs(blocks, tables.RUNS.read(runs).to_pandas(), tested, rules)


def _runs_trained_on(runs: pd.DataFrame, sources: Sequence[str]) -> pd.DataFrame:
    return runs[(runs["sources"] == "+".join(sources)) & (runs["state"] != REFUSED)]


def _score_runs(rule: str, block: Block, runs: pd.DataFrame, tested: pd.DataFrame) -> pd.DataFrame:
    """Return a block's runs with the score by which a rule selects hyper-parameters."""
    block_runs = _runs_trained_on(runs, block.sources)
    if rule == planning.SOURCE_VALIDATION:
        return block_runs.assign(score=block_runs["validation_accuracy"])
    if rule == ORACLE:  # mean accuracy on the targets themselves: what no fair selection can use
        keys, scored = ["model"], tested[tested["dataset"].isin(block.targets)]
    else:  # mean over sources of the accuracy on a source of a model trained on the others
        parts = [
            _runs_trained_on(runs, rest).merge(tested[tested["dataset"] == out], on="model")
            for out, rest in planning.leave_each_out(block.sources).items()
        ]
        if not parts:
            return block_runs.iloc[:0].assign(score=[])
        keys, scored = ["algorithm", "group", "seed"], pd.concat(parts)
    return block_runs.merge(scored.groupby(keys)["accuracy"].mean().rename("score"), on=keys)


def choose_groups(scores: pd.DataFrame, *, per_run: bool = False) -> pd.DataFrame:
    """Choose each algorithm's group with the best score: one for all seeds, or one per seed."""
    if per_run:
        return _sort_runs(_keep_highest(scores, "score", "group", ["algorithm", "seed"]), scores)
    means = scores.groupby(["algorithm", "group"], sort=False)["score"].mean().reset_index()
    best = _keep_highest(means, "score", "group", ["algorithm"])[["algorithm", "group"]]
    return _sort_runs(scores.merge(best, on=["algorithm", "group"]), scores)


def _sort_runs(chosen: pd.DataFrame, all_runs: pd.DataFrame) -> pd.DataFrame:
    """Return algorithm, seed and group of chosen runs; algorithms in the order of all runs."""
    position = {name: i for i, name in enumerate(all_runs["algorithm"].unique())}
    rows = chosen[["algorithm", "seed", "group"]].assign(position=chosen["algorithm"].map(position))
    return rows.sort_values(["position", "seed"]).drop(columns="position").reset_index(drop=True)


# --- comparison with ERM


@dataclass(frozen=True)
class Mean:
    """A mean over runs, its standard deviation, Student's interval, and p-value against 0."""

    mean: float
    sd: float
    low: float
    high: float
    p: float

    def columns(self, name: str) -> dict[str, float]:
        """Return the mean and its interval as columns called `name`, with suffixes for bounds."""
        return {name: self.mean, f"{name}_low": self.low, f"{name}_high": self.high}


def mean_over_runs(values: npt.ArrayLike, level: float) -> Mean:
    """Compute the mean over runs with Student's interval and t test; NaN for a single run."""
    from scipy.stats import t

    runs = np.asarray(values, np.float64)
    n, mean = len(runs), float(runs.mean())
    if n < 2:
        return Mean(mean, math.nan, math.nan, math.nan, math.nan)
    sd = float(runs.std(ddof=1))
    error = sd / math.sqrt(n)
    half = float(t.ppf((1 + level) / 2, n - 1)) * error
    p = float(2 * t.sf(abs(mean) / error, n - 1)) if error > 0 else float(mean == 0)
    return Mean(mean, sd, mean - half, mean + half, p)


def tabulate_results(chosen: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Summarise accuracies and gains over ERM across runs, per group of sets and over all sets."""
    keys = [*tables.BLOCK_COLUMNS, "column"]
    rows = [
        dict(zip(keys, key, strict=True), confidence=confidence, **row)
        for key, part in _average_sets(chosen).groupby(keys, sort=False)
        for row in _compare_with_erm(part, confidence)
    ]
    return pd.DataFrame(rows, columns=tables.RESULTS.names)


def _average_sets(chosen: pd.DataFrame) -> pd.DataFrame:
    """Average each run's accuracies over each group of sets, over all sets, and over a design."""
    run = [*tables.BLOCK_COLUMNS, "algorithm", "same_as_erm", "seed", "group"]
    aggregated = {"accuracy": ("accuracy", "mean"), "n_sets": ("dataset", "size")}
    over_all = chosen.groupby(run, sort=False).agg(**aggregated).reset_index()
    over_all["column"] = tables.MEAN
    several = chosen[chosen.groupby(tables.BLOCK_COLUMNS)["column"].transform("nunique") > 1]
    by_column = several.groupby([*run, "column"], sort=False).agg(**aggregated).reset_index()
    parts = [by_column, over_all]
    designed = over_all[over_all["design"] != ""]
    if len(designed):
        keys = ["design", "n_sources", "selection", "algorithm", "same_as_erm", "seed", "column"]
        averages = designed.groupby(keys, sort=False).agg(
            accuracy=("accuracy", "mean"), n_sets=("n_sets", "sum"),
            group=("group", lambda groups: " ".join(map(str, groups))),
        )  # fmt: skip
        parts.append(averages.reset_index().assign(block=tables.AVERAGE))
    return pd.concat(parts, ignore_index=True)


def _compare_with_erm(rows: pd.DataFrame, confidence: float) -> Iterator[dict[str, object]]:
    """Yield a row per algorithm, compared with ERM, for one group of sets in one block."""
    by_seed = rows.pivot_table(index="seed", columns="algorithm", values="accuracy")
    same = dict(zip(rows["algorithm"], rows["same_as_erm"], strict=True))
    gains = {
        name: mean_over_runs((by_seed[name] - by_seed[ERM]).dropna(), confidence) for name in same
    }
    p = [math.nan if name == ERM or same[name] else gains[name].p for name in same]
    for name, own_p, adjusted in zip(same, p, holm(p), strict=True):
        mean = mean_over_runs(by_seed[name].dropna(), confidence)
        own_rows = rows[rows["algorithm"] == name].sort_values("seed")
        groups = list(map(str, own_rows["group"]))
        yield {
            "algorithm": name, "same_as_erm": same[name], "n_sets": int(own_rows["n_sets"].iloc[0]),
            "groups": groups[0] if len(set(groups)) == 1 else ", ".join(groups),
            "n_runs": len(own_rows),
            "mean": mean.mean, "sd": mean.sd, "low": mean.low, "high": mean.high,
            **gains[name].columns("gain"), "p": own_p, "p_holm": adjusted,
        }  # fmt: skip


def tabulate_gains(chosen: pd.DataFrame) -> pd.DataFrame:
    """Tabulate each algorithm's gain over ERM on every set (Sun et al. 2024, Figure 5A)."""
    keys = [*tables.BLOCK_COLUMNS, "dataset", "column"]
    means = chosen.groupby([*keys, "algorithm"], sort=False)["accuracy"].mean().reset_index()
    erm = means[means["algorithm"] == ERM].drop(columns="algorithm")
    compared = means[means["algorithm"] != ERM].merge(erm, on=keys, suffixes=("", "_erm"))
    return compared.assign(gain=compared["accuracy"] - compared["accuracy_erm"])[tables.GAINS.names]


def tabulate_spread(results: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the spread of algorithms, and of runs of an algorithm (Sun et al. 2024, A.2.3)."""
    rows = []
    for key, part in results[results["column"] == tables.MEAN].groupby(
        tables.BLOCK_COLUMNS, sort=False
    ):
        distinct = part[~part["same_as_erm"]]
        means = distinct["mean"]
        rows.append(
            (
                *key, len(distinct), float(means.std(ddof=1)) if len(distinct) > 1 else math.nan,
                float(means.max() - means.min()),
                float(np.sqrt((distinct["sd"] ** 2).mean(skipna=False))),
                float(distinct.loc[distinct["algorithm"] == ERM, "mean"].iloc[0]),
            )
        )  # fmt: skip
    return pd.DataFrame(rows, columns=tables.SPREAD.names)


def tabulate_image_counts(chosen: pd.DataFrame) -> pd.DataFrame:
    """Correlate numbers of images with accuracies, over groups of sets (Sun et al. 2024, A.2.2)."""
    rows = []
    in_blocks = chosen[chosen["design"] == ""]
    for key, part in in_blocks.groupby([*_BLOCK, "algorithm"], sort=False):
        accuracies = part.groupby("column", sort=False)["accuracy"].mean()
        images = part.drop_duplicates("dataset").groupby("column", sort=False)["n"].sum()
        images = images[accuracies.index]
        coefficients = rank_correlations(images, accuracies)
        rows.append((*key, len(images), int(images.sum()), *coefficients))
    return pd.DataFrame(rows, columns=tables.IMAGE_COUNTS.names)


# --- scores without labels: how well they predict accuracies, and how distances go with gains


def add_scores(chosen: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Join label-free scores to the selected runs whose models are scored."""
    # Suites that share a set score it alike.
    scores = scores.drop_duplicates(["model", "dataset", "method", "variant"])
    scores = scores.drop(columns=["seed", "accuracy", "n", "group"])
    return chosen[chosen["design"] == ""].merge(scores, on=["model", "dataset"])


def tabulate_predictability(scored: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Tabulate how well scores predict each algorithm's accuracies, beside those of ERM."""
    keys = [*_BLOCK, "method", "variant"]
    rows = []
    for key, part in scored.groupby(keys, sort=False):
        per_run = pd.DataFrame(_measure_predictability(part))
        errors = per_run.pivot_table(index="seed", columns="algorithm", values="mae")
        for name, algorithm_runs in per_run.groupby("algorithm", sort=False):
            row: dict[str, object] = {
                **dict(zip(keys, key, strict=True)), "algorithm": name, "confidence": confidence,
                "n_sets": int(algorithm_runs["n_sets"].min()), "n_runs": len(algorithm_runs),
            }  # fmt: skip
            for what, values in (
                ("spearman", algorithm_runs["spearman"]),
                ("mae", algorithm_runs["mae"]),
                ("mae_gain", (errors[name] - errors[ERM]).dropna()),
            ):
                row |= mean_over_runs(values, confidence).columns(what)
            rows.append(row)
    return pd.DataFrame(rows, columns=tables.PREDICTABILITY.names)


def _measure_predictability(rows: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield rank correlation and leave-one-out error per run, for one method in one block."""
    for (name, seed), run in rows.groupby(["algorithm", "seed"], sort=False):
        with_score = run[np.isfinite(run["score"])]
        named = with_score.rename(columns={"seed": "run"}).assign(
            seed=0, suite="", base="", group="", subgroup="", severity=np.nan
        )
        predicted = predict_accuracies(named)
        left_out = predicted[predicted["protocol"] == LEAVE_ONE_OUT]
        yield {
            "algorithm": name, "seed": seed, "n_sets": len(with_score),
            "spearman": rank_correlations(with_score["score"], with_score["accuracy"])[0],
            "mae": float(left_out["error"].mean()),
        }  # fmt: skip


def tabulate_near_far(chosen: pd.DataFrame, scored: pd.DataFrame) -> pd.DataFrame:
    """Correlate the gain over ERM with the distance of sets from the sources."""
    erm = scored[(scored["algorithm"] == ERM) & (scored["method"] == FRECHET)]
    distances = erm.groupby([*_BLOCK, "dataset"])["score"].mean().rename("distance").reset_index()
    gains = tabulate_gains(chosen[chosen["design"] == ""])
    merged = gains.merge(distances, on=[*_BLOCK, "dataset"])
    rows = []
    for key, part in merged.groupby([*_BLOCK, "algorithm"], sort=False):
        distance, gain = part["distance"], part["gain"]
        coefficients = rank_correlations(distance, gain)
        rows.append((*key, len(part), *coefficients, linear_correlation(distance, gain)))
    return pd.DataFrame(rows, columns=tables.NEAR_FAR.names)


# --- jobs


def collect_runs(
    *, models: Sequence[str], epoch_steps: int, tested: Sequence[TestedModels],
    predictions: Sequence[Path], plan: Path, histories: Sequence[str], runs: Sequence[Path],
    curves: Sequence[Path], accuracies: Sequence[Path],
) -> None:  # fmt: skip
    """Write the tables of runs, learning curves and accuracies, from histories and predictions."""
    learning = tabulate_curves(models, histories, epoch_steps)
    table = tabulate_runs(tables.PLAN.read(plan).to_pandas(), learning)
    counted = tabulate_accuracies(tested, predictions)
    tables.RUNS.write(table, runs)
    tables.CURVES.write(learning, curves)
    tables.ACCURACIES.write(counted, accuracies)
    logging.info("%d trainings, %d accuracies", len(models), len(counted))


def compare_algorithms(
    *, blocks: Sequence[Block], rules: Sequence[str], confidence: float, runs: Path,
    accuracies: Path, results: Sequence[Path], gains: Sequence[Path], spread: Sequence[Path],
    image_counts: Sequence[Path],
) -> None:  # fmt: skip
    """Write the tables of results, gains by set, spread, and correlations with image counts."""
    chosen = read_and_choose_runs(blocks, runs, accuracies, rules)
    table = tabulate_results(chosen, confidence)
    tables.RESULTS.write(table, results, [_NOTE])
    tables.GAINS.write(tabulate_gains(chosen), gains)
    tables.SPREAD.write(tabulate_spread(table), spread)
    tables.IMAGE_COUNTS.write(tabulate_image_counts(chosen), image_counts)
    logging.info("%d blocks, %d results", len(blocks), len(table))


def compare_scores(
    *, blocks: Sequence[Block], rules: Sequence[str], confidence: float, runs: Path,
    accuracies: Path, scores: Sequence[Path], predictability: Sequence[Path],
    near_far: Sequence[Path], figure: Sequence[Path],
) -> None:  # fmt: skip
    """Write the tables of predictability and of gains by distance, and the figure of scores."""
    chosen = read_and_choose_runs(blocks, runs, accuracies, rules)
    scored = add_scores(chosen, pd.concat([SCORES.read(path).to_pandas() for path in scores]))
    table = tabulate_predictability(scored, confidence)
    tables.PREDICTABILITY.write(table, predictability, [_NOTE_ON_SCORES])
    tables.NEAR_FAR.write(tabulate_near_far(chosen, scored), near_far)
    save_figure(draw_scores(scored, rules[0]), *figure)
    logging.info("%d tables of scores, %d rows", len(scores), len(table))
