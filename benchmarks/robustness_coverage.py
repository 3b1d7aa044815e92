"""How often intervals of effective robustness hold it: simulated models, no timing.

    python benchmarks/robustness_coverage.py

Models' probit accuracies lie about a line; whether a model is right on an image depends on the
image's difficulty, which all models share. The true ρ of a model is its accuracy on infinite sets
minus that of the line. `images`: resamples draw images, the same for all models; `counts`: as of
published accuracies, each model's number of correct predictions.
"""

from collections.abc import Iterator

import numpy as np
from common import write_results
from scipy.special import ndtr

from matcheval.statistics.lines import Scale
from matcheval.statistics.robustness import draw_accuracies, effective_robustness

CASES = (  # models, images of both sets, mean and standard deviation of the probits, repetitions
    (7, 2000, 2000, 0.8, 0.4, 300), (15, 500, 500, 0.8, 0.4, 200), (15, 2000, 10_000, 0.8, 0.4, 60),
    (40, 2000, 2000, 0.8, 0.4, 60), (40, 500, 500, 0.8, 0.1, 100), (40, 500, 500, 2.2, 0.4, 100),
    (15, 500, 500, 2.6, 0.3, 150),
)  # fmt: skip
SLOPE, INTERCEPT, SCATTER = 0.9, -0.3, 0.04
SHARED = 0.85  # part of the variance of what decides on an image that is the image's
RESAMPLES = 1000


def right(probits: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Whether models of these probit accuracies are right on n images."""
    difficulty = SHARED**0.5 * rng.normal(size=n)
    chance = ndtr((probits[:, None] - difficulty) / (1 - SHARED) ** 0.5)
    return rng.random((len(probits), n)) < chance


def rows() -> Iterator[dict]:
    """Measure all cases, a row each."""
    for models, n_new, n_base, mean, spread, repetitions in CASES:
        rng = np.random.default_rng(0)
        holds, widths = {"images": [], "counts": []}, {"images": [], "counts": []}
        for seed in range(repetitions):
            base = rng.normal(mean, spread, models)
            line = SLOPE * base + INTERCEPT
            new = line + SCATTER * rng.normal(size=models)
            truth, sizes = ndtr(new) - ndtr(line), np.array([[n_new] * models, [n_base] * models])
            known = [right(new, n_new, rng), right(base, n_base, rng)]
            accuracy = np.array([one.mean(axis=1) for one in known])
            for name, drawn_from in (("images", known), ("counts", [None, None])):
                drawn = draw_accuracies(accuracy, sizes, drawn_from, resamples=RESAMPLES, seed=seed)
                found = effective_robustness(
                    accuracy, drawn, np.full(2, name == "images"), np.full(models, True),
                    Scale.PROBIT, seed=seed, confidence=0.95,
                )  # fmt: skip
                low, high = found["rho_low"], found["rho_high"]
                is_known = ~np.isnan(low)
                holds[name] += ((low <= truth) & (truth <= high))[is_known].tolist()
                widths[name].append(np.nanmedian(high - low))
        yield {
            "models": models, "n_new": n_new, "n_base": n_base,
            "mean_accuracy": round(float(ndtr(mean / (1 + spread**2) ** 0.5)), 3),
            "spread": spread, "repetitions": repetitions,
            **{f"coverage_{name}": round(100 * np.mean(found), 1) for name, found in holds.items()},
            "wider_by_counts": round(np.median(np.divide(widths["counts"], widths["images"])), 2),
        }  # fmt: skip


if __name__ == "__main__":
    write_results("robustness_coverage", rows(), "numpy", "scipy")
