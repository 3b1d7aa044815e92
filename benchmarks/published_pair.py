"""What 84 published networks do on CIFAR-10.1, by group, and what they do where nothing changes.

    python benchmarks/published_pair.py groups|controls|labels    # after `make cifar10.1`

groups: the claims on plain networks, on those trained on augmented images, and on those refined on
clean images afterwards. controls: the same comparison of random parts of CIFAR-10 with each other,
and of CIFAR-10 cut to the size of CIFAR-10.1. labels: how many labels of CIFAR-10.1 a sequence that
may stop at any time, and the difference of two networks, need for ± 2 points, over random draws.
"""

import csv
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
from common import ROOT, write_results

import matcheval as me
from matcheval.few_labels.estimators import disagreement_difference, ppr_cs
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import Predictions

FILES = ROOT / "results" / "downloads"
LISTED = ROOT / "studies" / "cifar10.1-published-files.csv"
LABELS = {
    "cifar10": "cifar10_test_set_original_labels.npy",
    "cifar10.1-v6": "cifar10.1_v6_labels.npy",
}
DRAWS, SEEDS = 10, 10
REPETITIONS, HALF_WIDTH = 500, 0.02
Arrays = Mapping[str, np.ndarray]


def read_catalogue() -> list[dict[str, str]]:
    """Read the rows of the study's catalogue of networks."""
    file = ROOT / "studies" / "cifar10.1-published-models.csv"
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def read_network(dataset: str, model: str) -> Predictions:
    """Read a network's published predictions on a set."""
    layout = Layout(columns={"logits": "preds"}, labels_file=str(FILES / LABELS[dataset]))
    return read_predictions(FILES / LISTED.stem / dataset / f"{model}.npz", layout=layout)


def select_rows(predictions: Predictions, rows: np.ndarray | slice = slice(None)) -> Arrays:
    """Return labels, predictions and probabilities of some rows, as `compare` takes them."""
    return {
        "labels": predictions.label[rows], "prediction": predictions.prediction[rows],
        "probability": predictions.probability[rows],
    }  # fmt: skip


def compare_groups() -> Iterator[dict]:
    """Compare both sets for the networks of each group; yield a row per criterion."""
    members = defaultdict[str, list[str]](list)
    for row in read_catalogue():
        members["all"].append(row["name"])
        members[row["group"]].append(row["name"])
    old = {name: select_rows(read_network("cifar10", name)) for name in members["all"]}
    new = {name: select_rows(read_network("cifar10.1-v6", name)) for name in members["all"]}
    for group, names in members.items():
        found = me.compare(
            {n: old[n] for n in names}, {n: new[n] for n in names}, seeds=SEEDS, pair="cifar10.1"
        )
        models = found.to_pandas("models", all=True)
        for criterion, gaps in found.gaps.items():
            own = models[models["criterion"] == criterion]
            above = {
                f"{key}_above_0": int((own[f"{key}_low"] > 0).sum())
                for key in ("gap", "confidence_part", "matched_gap", "conditional_part")
            }
            yield {"group": group, "models": len(names)} | mean_row(found, criterion) | above | {
                "least_matched_gap": own["matched_gap"].min(),
                "largest_matched_gap": own["matched_gap"].max(),
                "reference_narrowing": gaps.reference_narrowing,
            }  # fmt: skip


def mean_row(comparison: me.ComparisonResult, criterion: str) -> dict:
    """Return a row of a comparison: mean quantities, and the strengths of its claims."""
    gaps = comparison.gaps[criterion]
    row = {"criterion": criterion}
    for name in ("gap", "confidence_part", "matched_gap", "conditional_part"):
        estimate = getattr(gaps, name)
        row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    row |= {"narrowing": gaps.narrowing, "unmatched": gaps.fraction_unmatched}
    strengths = [str(claim.strength) for claim in comparison.verdict.claims]
    return row | dict(zip(("accuracy", "confidence", "left"), strengths, strict=False))


def compare_controls() -> Iterator[dict]:
    """Compare random parts of CIFAR-10 with each other, and one of them with CIFAR-10.1."""
    names = [row["name"] for row in read_catalogue()]
    old = {name: read_network("cifar10", name) for name in names}
    new = {name: select_rows(read_network("cifar10.1-v6", name)) for name in names}
    sizes = {"halves of CIFAR-10": (5000, 5000), "8,000 and 2,000 of CIFAR-10": (8000, 2000)}
    for draw in range(DRAWS):
        order = np.random.default_rng(draw).permutation(10_000)
        for control, (n, m) in sizes.items():
            parts = order[:n], order[n : n + m]
            sides = ({k: select_rows(p, rows) for k, p in old.items()} for rows in parts)
            found = me.compare(*sides, seeds=SEEDS, pair="control")
            yield {"control": control, "draw": draw} | mean_row(found, "label_probability")
        cut = {k: select_rows(p, order[:2000]) for k, p in old.items()}
        found = me.compare(cut, new, seeds=SEEDS, pair="cut")
        control = "2,000 of CIFAR-10, and CIFAR-10.1"
        yield {"control": control, "draw": draw} | mean_row(found, "label_probability")


def draw_labels() -> Iterator[dict]:
    """Count how many random labels of CIFAR-10.1 intervals of ± 2 points need; yield rows."""
    names = [row["name"] for row in read_catalogue() if row["group"] == "plain"]
    right = {name: read_network("cifar10.1-v6", name).correct.astype(float) for name in names}
    chosen = {name: read_network("cifar10.1-v6", name).prediction for name in names}
    for name in names:
        y, needed, held = right[name], [], 0
        for seed in range(REPETITIONS // 5):
            order = np.random.default_rng(seed).permutation(len(y))
            found = ppr_cs(y[order], len(y))
            narrow = (found.upper - found.lower) / 2 <= HALF_WIDTH
            needed.append(1 + int(narrow.argmax()) if narrow.any() else len(y))
            held += bool(((found.lower <= y.mean()) & (y.mean() <= found.upper)).all())
        yield labels_row("sequence", name, needed, held)
    best = max(names, key=lambda name: right[name].mean())
    for name in (n for n in names if n != best):
        differ = np.flatnonzero(chosen[best] != chosen[name])
        difference = right[best] - right[name]
        n = next(
            n
            for n in range(10, len(differ) + 1, 5)
            if half_width(difference, differ[np.random.default_rng(0).permutation(len(differ))[:n]],
                          len(differ), len(difference)) <= HALF_WIDTH or n + 5 > len(differ)
        )  # fmt: skip
        held = 0
        for seed in range(REPETITIONS):
            drawn = differ[np.random.default_rng(seed).permutation(len(differ))[:n]]
            found = disagreement_difference(difference[drawn], len(differ), len(difference))
            held += found.lower <= difference.mean() <= found.upper
        yield labels_row("difference", f"{best} and {name}", [n], held, len(differ))


def half_width(difference: np.ndarray, drawn: np.ndarray, differing: int, size: int) -> float:
    """Return the half-width of a difference's interval, from the labels drawn."""
    found = disagreement_difference(difference[drawn], differing, size)
    return (found.upper - found.lower) / 2


def labels_row(method: str, name: str, needed: list[int], held: int, differing: int = 0) -> dict:
    """Return a row: labels needed, median and range, and how often intervals hold the truth."""
    draws = REPETITIONS if method == "difference" else REPETITIONS // 5
    return {
        "method": method, "models": name, "labels": int(np.median(needed)), "fewest": min(needed),
        "most": max(needed), "coverage": held / draws, "draws": draws, "differing": differing,
    }  # fmt: skip


if __name__ == "__main__":
    parts = {"groups": compare_groups, "controls": compare_controls, "labels": draw_labels}
    write_results(f"published_pair_{sys.argv[1]}", parts[sys.argv[1]](), "numpy")
