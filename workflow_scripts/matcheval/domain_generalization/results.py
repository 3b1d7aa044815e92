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
    """Read the histories of trainings."""
    parts, problems = [], ErrorCollector()
    for model, file in zip(models, histories, strict=True):
        with problems.collected(), readable(file, "a readable history", KeyError, remedy=_AGAIN):
            history = pd.read_csv(file)
            steps = history["epoch"] * epoch_steps
            parts.append(history.assign(model=model, step=steps)[tables.CURVES.names])
    problems.raise_any()
    return pd.concat(parts, ignore_index=True)


def tabulate_runs(plan: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Add the best evaluation of every training to the plan."""
    best = _highest(curves, "validation_accuracy", "step", ["model"]).set_index("model")
    runs = plan.assign(
        best_step=plan["model"].map(best["step"]).fillna(0).astype("int64"),
        validation_accuracy=plan["model"].map(best["validation_accuracy"]),
    )
    lacking = runs[(runs["state"] != REFUSED) & (runs["best_step"] == 0)]
    if len(lacking):
        raise InputError("has no history", file=str(lacking["model"].iloc[0]))
    return runs[tables.RUNS.names]


def tabulate_accuracies(tested: Sequence[TestedModels], folders: Sequence[Path]) -> pd.DataFrame:
    """Count the accuracies of the models on the sets that they are tested on."""
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


def _highest(table: pd.DataFrame, value: str, then: str, by: list[str]) -> pd.DataFrame:
    """Keep the row with the highest value of each key; of equal ones the lowest `then`."""
    ordered = table.sort_values([value, then], ascending=[False, True], kind="stable")
    return ordered.drop_duplicates(by)


# --- selection of groups of hyper-parameters


def chosen_runs(
    blocks: Sequence[Block], runs: pd.DataFrame, accuracies: pd.DataFrame, rules: Sequence[str]
) -> pd.DataFrame:
    """Select groups by every rule, and give the accuracies of the selected runs on all targets."""
    tested_sets = accuracies[["model", "dataset", "n", "accuracy"]]
    parts = []
    for block in blocks:
        own = _runs_of(runs, block.sources)
        targets = pd.DataFrame({"dataset": block.targets, "column": block.columns})
        tested = own.merge(tested_sets, on="model").merge(targets, on="dataset")
        selected = {tables.DEFAULT: _in_order(own[own["group"] == 0], own)}
        for rule in rules:
            scores = _scores(rule, block, runs, tested_sets)
            if len(scores):
                selected[rule + tables.PER_RUN] = choose(scores, per_run=True)
                selected[rule] = choose(scores)
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


def read_chosen_runs(
    blocks: Sequence[Block], runs: Path, accuracies: Path, rules: Sequence[str]
) -> pd.DataFrame:
    """Read the tables of runs and accuracies, and select groups by every rule."""
    tested = tables.ACCURACIES.read(accuracies).to_pandas()
    return chosen_runs(blocks, tables.RUNS.read(runs).to_pandas(), tested, rules)


def _runs_of(runs: pd.DataFrame, sources: Sequence[str]) -> pd.DataFrame:
    return runs[(runs["sources"] == "+".join(sources)) & (runs["state"] != REFUSED)]


def _scores(rule: str, block: Block, runs: pd.DataFrame, tested: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of a block with the scores that a rule selects groups by."""
    own = _runs_of(runs, block.sources)
    if rule == planning.SOURCE_VALIDATION:
        return own.assign(score=own["validation_accuracy"])
    if rule == ORACLE:  # mean accuracy on the targets themselves: what no fair selection can use
        keys, scored = ["model"], tested[tested["dataset"].isin(block.targets)]
    else:  # mean over sources of the accuracy on a source of a model trained on the others
        parts = [
            _runs_of(runs, rest).merge(tested[tested["dataset"] == out], on="model")
            for out, rest in planning.without_each(block.sources).items()
        ]
        if not parts:
            return own.iloc[:0].assign(score=[])
        keys, scored = ["algorithm", "group", "seed"], pd.concat(parts)
    return own.merge(scored.groupby(keys)["accuracy"].mean().rename("score"), on=keys)


def choose(scores: pd.DataFrame, *, per_run: bool = False) -> pd.DataFrame:
    """Choose a group of hyper-parameters for every algorithm: the same for all seeds, or not."""
    if per_run:
        return _in_order(_highest(scores, "score", "group", ["algorithm", "seed"]), scores)
    means = scores.groupby(["algorithm", "group"], sort=False)["score"].mean().reset_index()
    best = _highest(means, "score", "group", ["algorithm"])[["algorithm", "group"]]
    return _in_order(scores.merge(best, on=["algorithm", "group"]), scores)


def _in_order(chosen: pd.DataFrame, every: pd.DataFrame) -> pd.DataFrame:
    """Return algorithm, seed and group, sorted by algorithm, as in all runs, and by seed."""
    position = {name: i for i, name in enumerate(every["algorithm"].unique())}
    rows = chosen[["algorithm", "seed", "group"]].assign(position=chosen["algorithm"].map(position))
    return rows.sort_values(["position", "seed"]).drop(columns="position").reset_index(drop=True)


# --- comparison with ERM


@dataclass(frozen=True)
class Mean:
    """A mean over runs, with Student's interval and the p-value of its difference from 0."""

    mean: float
    sd: float
    low: float
    high: float
    p: float

    def columns(self, name: str) -> dict[str, float]:
        """Return the mean and its interval by name of column."""
        return {name: self.mean, f"{name}_low": self.low, f"{name}_high": self.high}


def mean_over_runs(values: npt.ArrayLike, level: float) -> Mean:
    """Compute the mean over runs with Student's interval."""
    from scipy.stats import t

    of_runs = np.asarray(values, np.float64)
    n, mean = len(of_runs), float(of_runs.mean())
    if n < 2:
        return Mean(mean, math.nan, math.nan, math.nan, math.nan)
    sd = float(of_runs.std(ddof=1))
    error = sd / math.sqrt(n)
    half = float(t.ppf((1 + level) / 2, n - 1)) * error
    p = float(2 * t.sf(abs(mean) / error, n - 1)) if error > 0 else float(mean == 0)
    return Mean(mean, sd, mean - half, mean + half, p)


def tabulate_results(chosen: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Summarise accuracies over runs, per group of sets and over all sets."""
    keys = [*tables.BLOCK_COLUMNS, "column"]
    rows = [
        dict(zip(keys, key, strict=True), confidence=confidence, **row)
        for key, part in _by_run(chosen).groupby(keys, sort=False)
        for row in _compared(part, confidence)
    ]
    return pd.DataFrame(rows, columns=tables.RESULTS.names)


def _by_run(chosen: pd.DataFrame) -> pd.DataFrame:
    """A row per run and column, with the mean over its sets; and per run and design."""
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


def _compared(rows: pd.DataFrame, confidence: float) -> Iterator[dict[str, object]]:
    """Compare the algorithms in one column of one block."""
    by_seed = rows.pivot_table(index="seed", columns="algorithm", values="accuracy")
    same = dict(zip(rows["algorithm"], rows["same_as_erm"], strict=True))
    gains = {
        name: mean_over_runs((by_seed[name] - by_seed[ERM]).dropna(), confidence) for name in same
    }
    p = [math.nan if name == ERM or same[name] else gains[name].p for name in same]
    for name, own_p, adjusted in zip(same, p, holm(p), strict=True):
        over = mean_over_runs(by_seed[name].dropna(), confidence)
        of_name = rows[rows["algorithm"] == name].sort_values("seed")
        groups = list(map(str, of_name["group"]))
        yield {
            "algorithm": name, "same_as_erm": same[name], "n_sets": int(of_name["n_sets"].iloc[0]),
            "groups": groups[0] if len(set(groups)) == 1 else ", ".join(groups),
            "n_runs": len(of_name),
            "mean": over.mean, "sd": over.sd, "low": over.low, "high": over.high,
            **gains[name].columns("gain"), "p": own_p, "p_holm": adjusted,
        }  # fmt: skip


def tabulate_gains(chosen: pd.DataFrame) -> pd.DataFrame:
    """Compare algorithms with ERM on every set (Sun et al. 2024, Figure 5A)."""
    keys = [*tables.BLOCK_COLUMNS, "dataset", "column"]
    means = chosen.groupby([*keys, "algorithm"], sort=False)["accuracy"].mean().reset_index()
    erm = means[means["algorithm"] == ERM].drop(columns="algorithm")
    both = means[means["algorithm"] != ERM].merge(erm, on=keys, suffixes=("", "_erm"))
    return both.assign(gain=both["accuracy"] - both["accuracy_erm"])[tables.GAINS.names]


def tabulate_spread(results: pd.DataFrame) -> pd.DataFrame:
    """Tabulate how far algorithms, and runs of an algorithm, lie apart (Sun et al. 2024, A.2.3)."""
    rows = []
    for key, part in results[results["column"] == tables.MEAN].groupby(
        tables.BLOCK_COLUMNS, sort=False
    ):
        own = part[~part["same_as_erm"]]
        means = own["mean"]
        rows.append(
            (
                *key, len(own), float(means.std(ddof=1)) if len(own) > 1 else math.nan,
                float(means.max() - means.min()),
                float(np.sqrt((own["sd"] ** 2).mean(skipna=False))),
                float(own.loc[own["algorithm"] == ERM, "mean"].iloc[0]),
            )
        )  # fmt: skip
    return pd.DataFrame(rows, columns=tables.SPREAD.names)


def tabulate_image_counts(chosen: pd.DataFrame) -> pd.DataFrame:
    """Correlate numbers of images with accuracies, over groups of sets (Sun et al. 2024, A.2.2)."""
    rows = []
    own = chosen[chosen["design"] == ""]
    for key, part in own.groupby([*_BLOCK, "algorithm"], sort=False):
        accuracies = part.groupby("column", sort=False)["accuracy"].mean()
        images = part.drop_duplicates("dataset").groupby("column", sort=False)["n"].sum()
        images = images[accuracies.index]
        coefficients = rank_correlations(images, accuracies)
        rows.append((*key, len(images), int(images.sum()), *coefficients))
    return pd.DataFrame(rows, columns=tables.IMAGE_COUNTS.names)


# --- scores without labels: how well they predict accuracies, and how distances go with gains


def scores_of_runs(chosen: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Add their scores to the selected runs of the algorithms that are scored."""
    # Suites that share a set score it alike.
    scores = scores.drop_duplicates(["model", "dataset", "method", "variant"])
    scores = scores.drop(columns=["seed", "accuracy", "n", "group"])
    return chosen[chosen["design"] == ""].merge(scores, on=["model", "dataset"])


def tabulate_predictability(scored: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Tabulate how well scores predict the accuracies of generalised models, beside ERM's."""
    keys = [*_BLOCK, "method", "variant"]
    rows = []
    for key, part in scored.groupby(keys, sort=False):
        per_run = pd.DataFrame(_per_run(part))
        errors = per_run.pivot_table(index="seed", columns="algorithm", values="mae")
        for name, of_name in per_run.groupby("algorithm", sort=False):
            row: dict[str, object] = {
                **dict(zip(keys, key, strict=True)), "algorithm": name, "confidence": confidence,
                "n_sets": int(of_name["n_sets"].min()), "n_runs": len(of_name),
            }  # fmt: skip
            for what, values in (
                ("spearman", of_name["spearman"]),
                ("mae", of_name["mae"]),
                ("mae_gain", (errors[name] - errors[ERM]).dropna()),
            ):
                row |= mean_over_runs(values, confidence).columns(what)
            rows.append(row)
    return pd.DataFrame(rows, columns=tables.PREDICTABILITY.names)


def _per_run(rows: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Correlation and leave-one-out error of every run, of one method in one block."""
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
    """Correlate the gain over ERM with the distance of a set from the sources."""
    erm = scored[(scored["algorithm"] == ERM) & (scored["method"] == FRECHET)]
    distances = erm.groupby([*_BLOCK, "dataset"])["score"].mean().rename("distance").reset_index()
    gains = tabulate_gains(chosen[chosen["design"] == ""])
    both = gains.merge(distances, on=[*_BLOCK, "dataset"])
    rows = []
    for key, part in both.groupby([*_BLOCK, "algorithm"], sort=False):
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
    """Write the tables of runs, learning curves and accuracies."""
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
    """Write the tables of results, of gains by set, of spread, and of correlations with counts."""
    chosen = read_chosen_runs(blocks, runs, accuracies, rules)
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
    chosen = read_chosen_runs(blocks, runs, accuracies, rules)
    scored = scores_of_runs(chosen, pd.concat([SCORES.read(path).to_pandas() for path in scores]))
    table = tabulate_predictability(scored, confidence)
    tables.PREDICTABILITY.write(table, predictability, [_NOTE_ON_SCORES])
    tables.NEAR_FAR.write(tabulate_near_far(chosen, scored), near_far)
    save_figure(draw_scores(scored, rules[0]), *figure)
    logging.info("%d tables of scores, %d rows", len(scores), len(table))
