"""How much the no-warning reference varies between datasets: simulated pairs, no timing.

    python benchmarks/reference_spread.py

Originals and replications are draws from one population, and the replication's errors rise by one
factor at every confidence, so that the reference holds. For three sizes and both criteria: mean and
standard deviation, over draws with a gap of more than twice its standard error, of the reference's
narrowing, of the real one in samples of the same sizes, and of the difference of the two.
"""

import numpy as np
from common import write_results

from helpers import simulate
from matcheval.datasets.suites import Pair
from matcheval.predictions.records import Predictions
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.decomposition import Scored
from matcheval.protocol.no_warning import flip_probability, no_warning_reference
from matcheval.protocol.settings import MatchingSettings
from matcheval.protocol.standard_errors import isotonic_accuracy

SIZES = ((600, 497), (2_000, 2_000), (10_000, 10_000))
NARROWINGS = ("reference", "same_size", "excess")
DRAWS, CLASSES, ACCURACY, FACTOR = 100, 10, 0.93, 1.8


def degraded(base: Predictions, seed: int) -> Predictions:
    """Predictions whose errors are more frequent by one factor, at the same confidences."""
    errors = 1 - isotonic_accuracy(Scored(base.probability, base.correct))
    flip = np.random.default_rng(seed).random(len(base)) < flip_probability(errors, FACTOR)
    label = np.where(base.correct & flip, (base.label + 1) % CLASSES, base.label)
    return Predictions(base.index, label.astype(np.int16), base.prediction, base.probability)


def measure(n_original: int, n_replication: int) -> list[dict]:
    """A row per criterion."""
    rows = []
    for name, method in MatchingSettings().methods.items():
        found = []
        for draw in range(DRAWS):
            original = simulate(n_original, CLASSES, 2 * draw, accuracy=ACCURACY)
            base = simulate(n_replication, CLASSES, 2 * draw + 1, accuracy=ACCURACY)
            worse = degraded(base, draw)
            gap = original.correct.mean() - worse.correct.mean()
            error = np.sqrt(sum(one.correct.var() / len(one) for one in (original, worse)))
            pair = Pair(f"p{draw}", "o", "r")
            one = no_warning_reference(Comparison("m", pair, original, worse), method)
            if gap > 2 * error and not one.reason:
                columns = one.columns
                found.append([columns[f"{name}_narrowing"] for name in NARROWINGS])
        means, spreads = 100 * np.mean(found, axis=0), 100 * np.std(found, axis=0, ddof=1)
        row = {
            "n_original": n_original, "n_replication": n_replication, "criterion": name,
            "draws": len(found),
        }  # fmt: skip
        for quantity, mean, spread in zip(
            ("reference", "real", "excess"), means, spreads, strict=True
        ):
            row |= {f"{quantity}_mean": round(mean, 1), f"{quantity}_sd": round(spread, 1)}
        rows.append(row)
    return rows


if __name__ == "__main__":
    write_results("reference_spread", [row for n in SIZES for row in measure(*n)], "numpy")
