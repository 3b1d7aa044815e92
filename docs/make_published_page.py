"""Keep results of the study `cifar10.1-published`, which README and docs/results.md show.

`make_published_page.py`, after `make cifar10.1`, takes tables and a figure into docs/cifar10.1/;
`make_readme.py` and `make_accuracy_page.py` write the pages' tables from there and from
benchmarks/results/.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from take_over import markdown_table

from matcheval.accuracy_prediction.scores import SCORES
from matcheval.names import ORIGINS
from matcheval.predictions.softmax import softmax
from matcheval.protocol.words import with_interval

ROOT = Path(__file__).resolve().parents[1]
RESULTS, KEPT = ROOT / "results" / "cifar10.1-published", ROOT / "docs" / "cifar10.1"
MEASURED = ROOT / "benchmarks" / "results"
COPIED = {
    "gaps.csv": "gaps/cifar10.1.csv",
    "gaps_of_models.csv": "gaps/cifar10.1/label_probability.csv",
    "accuracies.csv": "tables/cifar10.1/label_probability.csv",
    "score_comparison.md": "score_comparison/cifar10.1.md",
    "few_labels.csv": "few_labels/cifar10.1.csv",
    "gaps.png": "figures/cifar10.1/label_probability/gaps.png",
    "matched_accuracy.png": "figures/cifar10.1/label_probability/matched_accuracy.png",
}
SHOWN_METHODS = (
    "cott", "atc_mc", "cot", "ac_temperature", "ac", "base_accuracy", "cbpe",
)  # fmt: skip
N_LARGEST = 2  # classes with a row of their own
PREDICTED, CALIBRATION = "predicted.csv", "calibration.csv"
CLASSES = "class_gaps.csv"
GROUPS = {
    "plain": "clean images", "augmented": "augmented images",
    "refined": "augmented, then clean images", "all": "all",
}  # fmt: skip
CRITERION = "label_probability"
NETWORK = "wrn-28-10"  # the example of the pages
# By how training sets confidence: the last is underconfident on CIFAR-10.
SHOWN_NETWORKS = (NETWORK, "resnext-29-4x64d-cm-1-1", "resnet-32-cm-1-1")
LABELS = {
    "cifar10": "cifar10_test_set_original_labels.npy", "cifar10.1-v6": "cifar10.1_v6_labels.npy",
}  # fmt: skip
THRESHOLDS, SHOWN_THRESHOLDS = "thresholds.csv", (0.5, 0.9, 0.99)


def copy_results() -> None:
    """Copy what the pages show, without the columns that they do not, to docs/cifar10.1/."""
    KEPT.mkdir(exist_ok=True)
    for name, path in COPIED.items():
        shutil.copyfile(RESULTS / path, KEPT / name)
    predicted = pd.read_csv(RESULTS / "accuracy_prediction" / "predicted" / "new.csv")
    variants = predicted["variant"].isna()
    kept = predicted[variants][["model", "method", "accuracy_base", "accuracy", "predicted"]]
    kept.round(6).to_csv(KEPT / PREDICTED, index=False, lineterminator="\n")
    found = pd.read_csv(RESULTS / "calibration" / "cifar10.1.csv")
    whole = found[found["matching"].isna()]
    whole = whole[["model", "origin", "accuracy", "mean_confidence", "overconfidence"]]
    whole.round(6).to_csv(KEPT / CALIBRATION, index=False, lineterminator="\n")
    found = pd.read_csv(RESULTS / "class_gaps" / "cifar10.1.csv")
    chosen = (found["kind"] == "true") & (found["matching"] == CRITERION) & (found["class"] >= 0)
    kept = found[chosen][["model", "class_name", "gap", "matched_gap"]]
    kept.round(6).to_csv(KEPT / CLASSES, index=False, lineterminator="\n")
    above_thresholds(RESULTS.parent / "downloads").to_csv(
        KEPT / THRESHOLDS, index=False, lineterminator="\n"
    )


def above_thresholds(downloads: Path) -> pd.DataFrame:
    """Return `NETWORK`'s mean confidence and accuracy on images above confidence thresholds."""
    rows = []
    for dataset, labels in LABELS.items():
        file = downloads / "cifar10.1-published-files" / dataset / f"{NETWORK}.npz"
        probabilities = softmax(np.load(file)["preds"])
        confidence, right = (
            probabilities.max(1),
            probabilities.argmax(1) == np.load(downloads / labels),
        )
        for least in SHOWN_THRESHOLDS:
            kept = confidence >= least
            means = confidence[kept].mean(), right[kept].mean()
            rows.append([dataset, least, len(kept), kept.sum(), *np.round(means, 6)])
    names = ["dataset", "threshold", "n", "n_above", "mean_confidence", "accuracy"]
    return pd.DataFrame(rows, columns=names)


def network_groups() -> pd.Series:
    """Return the group of each network, such as `plain`, by its name."""
    return pd.read_csv(ROOT / "studies" / "cifar10.1-published-models.csv").set_index("name")[
        "group"
    ]


def prediction_errors() -> pd.DataFrame:
    """Return absolute errors of predicted accuracies in points, by network and method."""
    predicted = pd.read_csv(KEPT / PREDICTED)
    error = 100 * (predicted["predicted"] - predicted["accuracy"]).abs()
    found = predicted.assign(error=error).pivot_table("error", "model", "method")
    cbpe = pd.read_csv(MEASURED / "published_cbpe.csv").set_index("model")
    return found.assign(cbpe=100 * (cbpe["estimated"] - cbpe["accuracy"]).abs())


def predictions_table() -> str:
    """Return a table of mean errors of predicted accuracies, by method and group of networks."""
    errors, group_of = prediction_errors()[[*SHOWN_METHODS]], network_groups()
    titles = {"cbpe": "CBPE (NannyML)", "base_accuracy": "unchanged accuracy"}
    rows = []
    for method, mean in errors.mean().sort_values().items():
        by_group = [errors.loc[group_of == group, method].mean() for group in list(GROUPS)[:-1]]
        title = titles.get(method) or SCORES[method].title
        rows.append([title, *(f"{error:.1f}" for error in (*by_group, mean))])
    return markdown_table(["method", *GROUPS.values()], rows)


def calibration_table() -> str:
    """Return a table of mean confidence minus accuracy on both sets, a row per group."""
    found = pd.read_csv(KEPT / CALIBRATION).pivot_table("overconfidence", "model", "origin")
    group_of, rows = network_groups(), []
    for group, title in GROUPS.items():
        own = 100 * found[(group_of == group) | (group == "all")]
        cells = [
            f"{own[o].mean():+.1f} ({own[o].min():+.1f} to {own[o].max():+.1f})".replace("-", "−")
            for o in ("original", "replication")
        ]
        rows.append([title, *cells])
    return markdown_table(["trained on", "CIFAR-10, mean (range)", "CIFAR-10.1"], rows)


def confidence_table() -> str:
    """Return a table of confidence, accuracy and explained gap of `SHOWN_NETWORKS`."""
    calibration = pd.read_csv(KEPT / CALIBRATION).set_index(["model", "origin"])
    gaps = pd.read_csv(KEPT / "gaps_of_models.csv").set_index("model")
    rows = []
    for name in SHOWN_NETWORKS:
        cells = []
        for origin in ORIGINS:
            accuracy, confidence, over = 100 * calibration.loc[(name, origin)]
            cells.append(f"{confidence:.1f}, {accuracy:.1f} ({over:+.1f})".replace("-", "−"))
        parts = [with_interval(gaps.loc[name], part) for part in ("gap", "confidence_part")]
        rows.append([name, *cells, *parts])
    return markdown_table(
        ["network", "CIFAR-10", "CIFAR-10.1", "gap", "explained by confidence"], rows
    )


def thresholds_table() -> str:
    """Return a table of accepted images, promised errors and errors above thresholds."""
    found, rows = pd.read_csv(KEPT / THRESHOLDS), []
    for least, rows_of_sets in found.groupby("threshold"):
        cells = []
        for _, row in rows_of_sets.iterrows():
            errors = 100 * (1 - row[["mean_confidence", "accuracy"]].to_numpy(float))
            cells += [f"{100 * row['n_above'] / row['n']:.0f}", *(f"{e:.1f}" for e in errors)]
        rows.append([f"{least:g}", *cells])
    heads = [
        f"{name}: {what}"
        for name in ("CIFAR-10", "CIFAR-10.1")
        for what in ("accepted", "promised errors", "errors")
    ]
    return markdown_table(["threshold", *heads], rows)


def classes_table() -> str:
    """Return a table of gaps and matched gaps by true class, means over groups of networks."""
    found = pd.read_csv(KEPT / CLASSES)
    group_of = found["model"].map(network_groups())
    means = 100 * found.groupby(["class_name", group_of])[["gap", "matched_gap"]].mean()
    means = means.round(1) + 0.0  # no negative zero
    by_class = means["gap"].groupby("class_name").mean().sort_values(ascending=False)
    largest, others = by_class.index[:N_LARGEST], by_class.index[N_LARGEST:]
    rows = []
    for name in largest:
        pairs = (means.loc[name, group] for group in list(GROUPS)[:-1])
        rows.append([name, *(f"{gap:.1f} ({matched:.1f})" for gap, matched in pairs)])
    ranges = []
    for group in list(GROUPS)[:-1]:
        low, high = means.loc[others].xs(group, level="model").agg(["min", "max"]).to_numpy()
        ranges.append(f"{low[0]:.1f} to {high[0]:.1f} ({low[1]:.1f} to {high[1]:.1f})")
    rows.append([f"the other {len(others)}, range", *ranges])
    shown = [[cell.replace("-", "−") for cell in row] for row in rows]
    return markdown_table(["true class", *list(GROUPS.values())[:-1]], shown)


def labels_table() -> str:
    """Return a table of how many labels of CIFAR-10.1 methods need for ± 2 points, and coverage."""
    drawn = pd.read_csv(KEPT / "few_labels.csv")
    further = pd.read_csv(MEASURED / "published_pair_labels.csv")
    rows = []
    for design, title in (("random", "`random`, exact"), ("mixed", "`mixed`")):
        own = drawn[drawn["design"] == design]
        needed = own.drop_duplicates("model")["labels_needed"]
        coverage = 100 * own["coverage"]
        rows.append([
            title, f"{len(needed)} networks",
            f"{needed.median():.0f} ({needed.min()} to {needed.max()})",
            f"{coverage.mean():.1f} ({coverage.min():.1f})",
        ])  # fmt: skip
    titles = {
        "sequence": "sequence, stopped when narrow",
        "difference": "difference of two networks",
    }
    for method, title in titles.items():
        own = further[further["method"] == method]
        coverage = 100 * own["coverage"]
        rows.append([
            title, f"{len(own)} {'pairs' if method == 'difference' else 'networks'}",
            f"{own['labels'].median():.0f} ({own['fewest'].min()} to {own['most'].max()})",
            f"{coverage.mean():.1f} ({coverage.min():.1f})",
        ])  # fmt: skip
    return markdown_table(
        ["drawn, method", "of", "labels, median (range)", "coverage, mean (lowest)"], rows, 2
    )


BLOCKS: dict[str, Callable[[], str]] = {
    "cifar10.1/calibration": calibration_table,
    "cifar10.1/confidence": confidence_table,
    "cifar10.1/thresholds": thresholds_table,
    "cifar10.1/classes": classes_table,
    "cifar10.1/labels": labels_table,
}


if __name__ == "__main__":
    copy_results()
