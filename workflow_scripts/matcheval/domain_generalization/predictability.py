"""What goes with accuracies on target sets: scores without labels, distances, numbers of images."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.predicting import LEAVE_ONE_OUT, predict_accuracies
from matcheval.domain_generalization.comparison import mean_over_runs
from matcheval.domain_generalization.results import tabulate_gains
from matcheval.domain_generalization.schemas import IMAGE_COUNTS, NEAR_FAR, PREDICTABILITY
from matcheval.domain_generalization.settings import ERM, FRECHET
from matcheval.statistics.ranks import linear_correlation, rank_correlations

_BLOCK = ["block", "n_sources", "selection"]


def tabulate_image_counts(chosen: pd.DataFrame) -> pd.DataFrame:
    """Correlate numbers of images with accuracies, over groups of sets (Sun et al. 2024, A.2.2)."""
    rows = []
    own = chosen[chosen["design"] == ""]
    for key, each in own.groupby([*_BLOCK, "algorithm"], sort=False):
        by_column = each.groupby("column", sort=False)
        accuracies = by_column["accuracy"].mean()
        images = each.drop_duplicates("dataset").groupby("column", sort=False)["n"].sum()
        images = images[accuracies.index]
        spearman, kendall = rank_correlations(images, accuracies)
        rows.append(
            {
                **dict(zip([*_BLOCK, "algorithm"], key, strict=True)),
                "n_columns": len(images), "n_images": int(images.sum()),
                "spearman": spearman, "kendall": kendall,
            }
        )  # fmt: skip
    return pd.DataFrame(rows, columns=IMAGE_COUNTS.names)


def scores_of_runs(chosen: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Add their scores to the selected runs of the algorithms that are scored."""
    # Suites that share a set score it alike.
    once = scores.drop_duplicates(["model", "dataset", "method", "variant"])
    found = once.drop(columns=["seed", "accuracy", "n", "group"])
    own = chosen[chosen["design"] == ""]
    return own.merge(found, on=["model", "dataset"])


def tabulate_predictability(scored: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Tabulate how well scores predict the accuracies of generalised models, beside ERM's."""
    keys = [*_BLOCK, "method", "variant"]
    rows = []
    for key, each in scored.groupby(keys, sort=False):
        per_run = pd.DataFrame(_per_run(each))
        errors = per_run.pivot_table(index="seed", columns="algorithm", values="mae")
        for name, of_name in per_run.groupby("algorithm", sort=False):
            rank = mean_over_runs(of_name["spearman"], confidence)
            error = mean_over_runs(of_name["mae"], confidence)
            more = mean_over_runs((errors[name] - errors[ERM]).dropna(), confidence)
            rows.append(
                {
                    **dict(zip(keys, key, strict=True)),
                    "algorithm": name, "n_sets": int(of_name["n_sets"].min()),
                    "n_runs": len(of_name),
                    "spearman": rank.mean, "spearman_low": rank.low, "spearman_high": rank.high,
                    "mae": error.mean, "mae_low": error.low, "mae_high": error.high,
                    "mae_gain": more.mean, "mae_gain_low": more.low, "mae_gain_high": more.high,
                    "confidence": confidence,
                }
            )  # fmt: skip
    return pd.DataFrame(rows, columns=PREDICTABILITY.names)


def _per_run(each: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Correlation and leave-one-out error of every run, of one method in one block."""
    for (name, seed), run in each.groupby(["algorithm", "seed"], sort=False):
        known = run[np.isfinite(run["score"])]
        named = known.rename(columns={"seed": "run"}).assign(
            seed=0, suite="", base="", group="", subgroup="", severity=np.nan
        )
        predicted = predict_accuracies(named)
        left_out = predicted[predicted["protocol"] == LEAVE_ONE_OUT]
        yield {
            "algorithm": name, "seed": seed, "n_sets": len(known),
            "spearman": rank_correlations(known["score"], known["accuracy"])[0],
            "mae": float(left_out["error"].mean()),
        }  # fmt: skip


def tabulate_near_far(chosen: pd.DataFrame, scored: pd.DataFrame) -> pd.DataFrame:
    """Correlate the gain over ERM with the distance of a set from the sources."""
    erm = scored[(scored["algorithm"] == ERM) & (scored["method"] == FRECHET)]
    distances = erm.groupby([*_BLOCK, "dataset"])["score"].mean().rename("distance").reset_index()
    gains = tabulate_gains(chosen[chosen["design"] == ""])
    both = gains.merge(distances, on=[*_BLOCK, "dataset"])
    rows = []
    for key, each in both.groupby([*_BLOCK, "algorithm"], sort=False):
        spearman, kendall = rank_correlations(each["distance"], each["gain"])
        rows.append(
            {
                **dict(zip([*_BLOCK, "algorithm"], key, strict=True)),
                "n_sets": len(each), "spearman": spearman, "kendall": kendall,
                "pearson": linear_correlation(each["distance"], each["gain"]),
            }
        )  # fmt: skip
    return pd.DataFrame(rows, columns=NEAR_FAR.names)
