"""Whether the intervals of the decomposition hold the parts without bins: simulations, no timing.

    python benchmarks/binning_bias.py

Confidences are Beta distributed, with more low ones in the target; accuracy is the confidence less
3 points, and in the target less a further `drop`. The parts without bins follow by integration. For
the sizes of the documentation: share of 95 % intervals that hold the conditional part without bins,
of 20 bins and wider by `binning_bound`, and the mean bias and bound in points.
"""

import numpy as np
from common import write_results

from matcheval.protocol.decomposition import (
    FURTHER_N_BINS,
    Scored,
    bin_sets,
    binning_bound,
    decompose_binned,
    parts_of_bins,
)

SIZES = ((600, 497), (2_000, 2_000), (10_000, 10_000), (50_000, 10_000))
SHIFTS = {"small": (6.0, 0.6), "large": (3.0, 0.8)}  # of the target; the source is Beta(8, 0.5)
DROPS = (0.0, 0.03)
DRAWS = 400


def measure(n_source: int, n_target: int, shift: str, drop: float) -> dict:
    """A row: coverage of both intervals."""
    held, biases, bounds = np.zeros(2), [], []
    for draw in range(DRAWS):
        rng = np.random.default_rng([n_source, n_target, list(SHIFTS).index(shift), draw])

        def side(n: int, shape: tuple[float, float], lower: float, rng=rng) -> Scored:
            confidence = rng.beta(*shape, n)
            return Scored(confidence, rng.random(n) < confidence - 0.03 - lower)

        source, target = side(n_source, (8.0, 0.5), 0.0), side(n_target, SHIFTS[shift], drop)
        found = decompose_binned([bin_sets(source, target)], seed=draw, by_cells=True).mean
        parts = [parts_of_bins(*bin_sets(source, target, n).counts) for n in FURTHER_N_BINS]
        bound = binning_bound(found.confidence_part, *(float(one.confidence) for one in parts))
        low, high = found.conditional_part_low, found.conditional_part_high
        held += [low <= drop <= high, low - bound <= drop <= high + bound]
        biases.append(found.conditional_part - drop)
        bounds.append(bound)
    coverage, wide = 100 * held / DRAWS
    return {
        "n_source": n_source, "n_target": n_target, "shift": shift, "drop": 100 * drop,
        "draws": DRAWS, "bias": round(100 * np.mean(biases), 2),
        "bound": round(100 * np.mean(bounds), 2), "coverage_20_bins": round(coverage, 1),
        "coverage_wide": round(wide, 1),
    }  # fmt: skip


if __name__ == "__main__":
    cases = [(*n, shift, drop) for n in SIZES for shift in SHIFTS for drop in DROPS]
    write_results("binning_bias", [measure(*case) for case in cases], "numpy")
