"""Keep results of the study `cifar10.1-published`, which README and docs/results.md show.

`make_published_page.py`, after `make cifar10.1`, takes tables and a figure into docs/cifar10.1/;
`make_readme.py` writes the pages' tables from there and from benchmarks/results/.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm
from take_over import table

from matcheval.accuracy_prediction.scores import SCORES
from matcheval.statistics.lines import bootstrap_lines

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
PREDICTED, CALIBRATION = "predicted.csv", "calibration.csv"
CLASSES, HARD = "class_gaps.csv", "hard_images.csv"
RECHT = "recht-v6-fits.csv"  # of `snakemake replication` with studies/recht-cifar10.yaml
GROUPS = {
    "plain": "clean images", "augmented": "augmented images",
    "refined": "augmented, then clean images", "all": "all",
}  # fmt: skip
CRITERION = "label_probability"
PARTS = ("gap", "confidence_part", "matched_gap", "conditional_part")
MIN_ACCURACY = 0.9  # of the second fit, as most of Recht et al.'s networks have


def take() -> None:
    """Copy what the pages show, leaving out columns that they do not."""
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
    hard = pd.concat(
        pd.read_csv(RESULTS / "hard_images" / f"{name}.csv") for name in ("cifar10", "cifar10.1-v6")
    )
    none = hard[hard["n_right"] == 0].groupby("dataset").size()
    none.rename("none_right").to_csv(KEPT / HARD, lineterminator="\n")


def groups() -> pd.Series:
    """The group of each network."""
    return pd.read_csv(ROOT / "studies" / "cifar10.1-published-models.csv").set_index("name")[
        "group"
    ]


def points(row: pd.Series, name: str) -> str:
    """A gap in points with its interval."""
    value, low, high = (100 * row[name + end] for end in ("", "_low", "_high"))
    return f"{value:.1f} [{low:.1f}, {high:.1f}]".replace("-", "−")


def gaps_by_group() -> str:
    """Return gap and parts of each group of networks, by criterion 1."""
    found = pd.read_csv(MEASURED / "published_pair_groups.csv")
    found = found[found["criterion"] == CRITERION].set_index("group")
    of, accuracies = groups(), pd.read_csv(KEPT / "accuracies.csv").set_index("model")
    rows = []
    for group, title in GROUPS.items():
        row, models = found.loc[group], of.index[(of == group) | (group == "all")]
        low, high = 100 * accuracies.loc[models, "accuracy_original"].agg(["min", "max"])
        rows.append([
            title, f"{row['models']}", f"{low:.0f} to {high:.0f}",
            *(points(row, name) for name in PARTS),
            f"{100 * row['narrowing']:.0f} ({100 * row['reference_narrowing']:.0f})",
            f"{row['matched_gap_above_0']} of {row['models']}",
        ])  # fmt: skip
    head = ["trained on", "networks", "accuracy on CIFAR-10 (%)", "gap", "part with confidence",
            "matched gap", "part at equal confidence", "narrower by (without warning) (%)",
            "matched gap above 0"]  # fmt: skip
    return table(head, rows)


def controls() -> str:
    """Return the same of parts of CIFAR-10, of which nothing but chance differs."""
    found = pd.read_csv(MEASURED / "published_pair_controls.csv")
    rows = []
    for control, draws in found.groupby("control", sort=False):
        cells = [
            f"{100 * draws[n].mean():.2f} ({100 * draws[n].min():.2f} to "
            f"{100 * draws[n].max():.2f})".replace("-", "−")
            for n in ("gap", "confidence_part", "matched_gap")
        ]
        clear = [
            f"{((draws[f'{n}_low'] > 0) | (draws[f'{n}_high'] < 0)).sum()}"
            for n in ("gap", "confidence_part", "matched_gap")
        ]
        rows.append([control, f"{len(draws)}", *cells, ", ".join(clear)])
    head = ["original and replication", "draws", "gap, mean (range)", "part with confidence",
            "matched gap", "draws whose three intervals exclude 0"]  # fmt: skip
    return table(head, rows)


def errors() -> pd.DataFrame:
    """The error of each method, and of CBPE, on each network, in points; a column per method."""
    predicted = pd.read_csv(KEPT / PREDICTED)
    error = 100 * (predicted["predicted"] - predicted["accuracy"]).abs()
    found = predicted.assign(error=error).pivot_table("error", "model", "method")
    cbpe = pd.read_csv(MEASURED / "published_cbpe.csv").set_index("model")
    return found.assign(cbpe=100 * (cbpe["estimated"] - cbpe["accuracy"]).abs())


def predictions() -> str:
    """Return mean errors of predicted accuracies by group, and how often the first errs less."""
    found, of = errors(), groups()
    catalogue = pd.read_csv(ROOT / "studies" / "cifar10.1-published-models.csv")
    family = catalogue.set_index("name")["family"]
    means = found.mean().sort_values()
    best, rows = means.index[0], []
    titles = {"cbpe": "CBPE (NannyML)", "base_accuracy": "unchanged accuracy"}
    for method in means.index:
        by_group = [found.loc[of == group, method].mean() for group in list(GROUPS)[:-1]]
        difference = (found[method] - found[best]).groupby(family).mean()
        span = "" if method == best else f"{difference.min():.1f} to {difference.max():.1f}"
        title = titles.get(method) or SCORES[method].title
        numbers = (*by_group, means[method])
        rows.append([title, *(f"{one:.1f}" for one in numbers), span.replace("-", "−")])
    head = ["method", *GROUPS.values(), f"more than {SCORES[best].title}, by architecture"]
    return table(head, rows)


def calibrated() -> str:
    """Return mean confidence less accuracy on both sets, a row per group."""
    found = pd.read_csv(KEPT / CALIBRATION).pivot_table("overconfidence", "model", "origin")
    of, rows = groups(), []
    for group, title in GROUPS.items():
        own = 100 * found[(of == group) | (group == "all")]
        cells = [
            f"{own[o].mean():+.1f} ({own[o].min():+.1f} to {own[o].max():+.1f})".replace("-", "−")
            for o in ("original", "replication")
        ]
        rows.append([title, *cells])
    return table(["trained on", "CIFAR-10, mean (range)", "CIFAR-10.1"], rows)


def classes() -> str:
    """Return gap and matched gap of each true class, means over the networks of a group."""
    found = pd.read_csv(KEPT / CLASSES)
    means = (
        100
        * found.groupby(["class_name", found["model"].map(groups())])[["gap", "matched_gap"]].mean()
    )
    means = means.round(1) + 0.0  # no negative zero
    rows = []
    for name in means["gap"].groupby("class_name").mean().sort_values(ascending=False).index:
        pairs = (means.loc[name, group] for group in list(GROUPS)[:-1])
        rows.append([name, *(f"{gap:.1f} ({matched:.1f})" for gap, matched in pairs)])
        rows[-1] = [cell.replace("-", "−") for cell in rows[-1]]
    hard = pd.read_csv(KEPT / HARD).set_index("dataset")["none_right"]
    text = (
        f"No network is right on {hard['cifar10']} of the 10,000 images of CIFAR-10, and on "
        f"{hard['cifar10.1-v6']} of the 2,000 of CIFAR-10.1."
    )
    return table(["true class", *list(GROUPS.values())[:-1]], rows) + f"\n{text}\n"


def lines() -> str:
    """Return the fits of new on old accuracies, of all networks and of the accurate ones."""
    found = pd.read_csv(KEPT / "accuracies.csv")
    old, new = found["accuracy_original"].to_numpy(), found["accuracy_replication"].to_numpy()
    recht = pd.read_csv(KEPT / RECHT).set_index("scale")
    of_recht, probit = recht.loc["linear"], recht.loc["probit"]
    rows = []
    for title, chosen in (
        ("the 84 networks", np.ones(len(old), bool)),
        (f"of these, above {100 * MIN_ACCURACY:.0f} %", old > MIN_ACCURACY),
        ("of these, on clean images", (found["model"].map(groups()) == "plain").to_numpy()),
    ):
        slope = np.polyfit(old[chosen], new[chosen], 1)[0]
        drawn = bootstrap_lines(old[chosen], new[chosen], resamples=100_000)
        low, high = np.nanpercentile(np.asarray(drawn.slope), [2.5, 97.5])
        rows.append([title, f"{chosen.sum()}", f"{slope:.2f} [{low:.2f}, {high:.2f}]"])
    mine = f"{of_recht['slope']:.2f} [{of_recht['slope_low']:.2f}, {of_recht['slope_high']:.2f}]"
    rows.append(["Recht et al.'s, on v6", f"{of_recht['n_models']}", mine])
    rows.append(["Recht et al., as printed, on v4", "", "1.69"])
    expected = norm.cdf(probit["slope"] * norm.ppf(old) + probit["offset"])
    above = (100 * (found.set_index("model")["accuracy_replication"] - expected)).groupby(groups())
    means = above.mean()
    shown = ", ".join(f"{means[g]:+.1f} ({title})" for g, title in GROUPS.items() if g in means)
    text = "Points above the probit line of Recht et al.'s networks on v6, means: "
    return table(["networks", "number", "slope (points per point)"], rows) + (
        f"\n{text}{shown}.\n".replace("-", "−")
    )


def labels() -> str:
    """Return how many labels of CIFAR-10.1 are needed for ± 2 points, and their coverage."""
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
    return table(
        ["drawn, method", "of", "labels, median (range)", "coverage, mean (lowest)"], rows, 2
    )


BLOCKS: dict[str, Callable[[], str]] = {
    "cifar10.1/groups": gaps_by_group,
    "cifar10.1/controls": controls,
    "cifar10.1/prediction": predictions,
    "cifar10.1/calibration": calibrated,
    "cifar10.1/classes": classes,
    "cifar10.1/lines": lines,
    "cifar10.1/labels": labels,
}


if __name__ == "__main__":
    take()
