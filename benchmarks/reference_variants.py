"""What other choices change in the excess over the no-warning reference: simulations, no timing.

    python benchmarks/reference_variants.py

The pairs of `reference_spread.py`, whose errors rise by one factor, so that the excess should be 0.
The isotonic fit of the errors is on the points that are then degraded, and each is degraded by its
expected correctness. Here the fit of each point is also by the other half of the original (cross),
and predictions are made wrong at random (drawn): mean excess as it is, and mean change with its
standard error, in points, over draws with a gap of more than twice its standard error.
"""

from unittest.mock import patch

import numpy as np
from common import write_results
from reference_spread import ACCURACY, CLASSES, SIZES, degraded

from helpers import simulate
from matcheval.datasets.suites import Pair
from matcheval.protocol import no_warning
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.decomposition import Scored
from matcheval.protocol.settings import MatchingSettings

DRAWS = {600: 100, 2_000: 100, 10_000: 40}


def measure(n_original: int, n_replication: int) -> list[dict]:
    """A row per criterion."""
    rows, flip_probability = [], no_warning.flip_probability
    for name, method in MatchingSettings().methods.items():
        found = []
        for draw in range(DRAWS[n_original]):
            original = simulate(n_original, CLASSES, 2 * draw, accuracy=ACCURACY)
            base = simulate(n_replication, CLASSES, 2 * draw + 1, accuracy=ACCURACY)
            worse, rng = degraded(base, draw), np.random.default_rng(draw)
            error = np.sqrt(sum(one.correct.var() / len(one) for one in (original, worse)))
            if original.correct.mean() - worse.correct.mean() <= 2 * error:
                continue
            comparison = Comparison("m", Pair(f"p{draw}", "o", "r"), original, worse)
            scored = Scored(original.probability, original.correct)

            def drawn(errors, ratio, rng=rng):
                return (rng.random(len(errors)) < flip_probability(errors, ratio)).astype(float)

            excess = []
            for is_drawn in (False, True):
                for accuracy in (None, no_warning.cross_fitted(scored, rng)):
                    with patch.object(
                        no_warning, "flip_probability", drawn if is_drawn else flip_probability
                    ):
                        one = no_warning.no_warning_reference(comparison, method, accuracy)
                    excess.append(np.nan if one.reason else 100 * one.columns["excess_narrowing"])
            found.append(excess)
        values = np.array(found)
        values = values[np.isfinite(values).all(axis=1)]
        changes = values[:, 1:] - values[:, :1]
        row = {
            "n_original": n_original, "n_replication": n_replication, "criterion": name,
            "draws": len(values), "excess": round(values[:, 0].mean(), 1),
        }  # fmt: skip
        for variant, of in zip(("cross", "drawn", "both"), changes.T, strict=True):
            row |= {variant: round(of.mean(), 2), f"{variant}_se": round(
                of.std(ddof=1) / np.sqrt(len(of)), 2
            )}  # fmt: skip
        rows.append(row)
    return rows


if __name__ == "__main__":
    write_results("reference_variants", [row for n in SIZES for row in measure(*n)], "numpy")
