"""The bootstrap of a fit over models against a loop of `numpy.polyfit`, in one run.

    python benchmarks/bootstrap.py

100,000 resamples of 67 models (the paper's ImageNet models) and of 1,556 (timm's results), on one
core: processor seconds, also of the confidence region, and the process's peak of memory. The loop
runs fewer resamples; both sides are compared per resample, medians of alternating repeats.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported

import multiprocessing
import statistics

import numpy as np
from common import peak_mib, processor_seconds, write_results

from matcheval.statistics.lines import RESAMPLES, bootstrap_lines, confidence_region

LOOP = 1_000  # resamples of the loop


def loop(x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """The procedure written down: draw, fit, repeat."""
    generator = np.random.RandomState(0)
    fits = []
    for _ in range(LOOP):
        drawn = generator.choice(len(x), len(x))
        fits.append(np.polyfit(x[drawn], y[drawn], 1))
    return fits


def measure(n_models: int) -> dict[str, object]:
    """One row, measured in a process of its own for its peak of memory."""
    generator = np.random.default_rng(0)
    x = generator.uniform(50, 85, n_models)
    y = 1.1 * x - 20 + generator.normal(0, 1, n_models)
    before = peak_mib()
    ours, theirs = [], []
    bootstrap_lines(x, y, 10)  # compiled by now
    for _ in range(5 if n_models < 1000 else 3):
        ours.append(processor_seconds(lambda: bootstrap_lines(x, y, seed=0)))
        theirs.append(processor_seconds(lambda: loop(x, y)))
    lines = bootstrap_lines(x, y, seed=0)
    region = processor_seconds(lambda: confidence_region(lines, np.linspace(50, 85, 200)))
    ratio = (statistics.median(theirs) / LOOP) / (statistics.median(ours) / RESAMPLES)
    return {
        "models": n_models,
        "resamples": RESAMPLES,
        "seconds": round(statistics.median(ours), 3),
        "region_seconds": round(region, 3),
        "polyfit_loop_seconds": round(statistics.median(theirs) * RESAMPLES / LOOP, 1),
        "ratio": round(ratio),
        "peak_mib": peak_mib(),
        "of_it_before_mib": before,
    }


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        results = pool.map(measure, (67, 1556), chunksize=1)
    write_results("bootstrap", results, "numpy")
