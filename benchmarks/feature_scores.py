"""Scores of features: all of one model on 180 sets, discriminators apart, and the codebook.

    python benchmarks/feature_scores.py [--sets 180]

The size of CIFAR-10-Warehouse: sets of 3,400 images with 512 features, a base of 8,000; the
codebook of a reference of 5,000 images, and of CIFAR-10's 50,000. Features are drawn: rectified
normal features around ten class means, of which every set shifts the mean. Wall seconds and CPU
seconds, on one core; making the features is not counted. The naive Fréchet distance
(`scipy.linalg.sqrtm` of the product of the covariances) runs on some of the sets, and has to agree.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported
os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from common import peak_mib, write_results

from matcheval.accuracy_prediction.scores import SCORES
from matcheval.accuracy_prediction.scores.features import fit_codebook
from matcheval.accuracy_prediction.scores.outputs import Outputs
from matcheval.accuracy_prediction.scores.score import Sides, Sources

IMAGES, BASE, FEATURES, REFERENCES = 3_400, 8_000, 512, (5_000, 50_000)
COMPARED = 3  # sets of the naive distance
QUICK = ("frechet", "frechet_reference", "mmd", "bop_js")
DISCRIMINATORS = ("disc_auc", "disc_a_proxy", "disc_auc:balanced", "disc_a_proxy:balanced")

_DRAWN = np.random.default_rng(0)
CENTRES = _DRAWN.normal(size=(10, FEATURES))
MIXING = 0.3 * _DRAWN.normal(size=(40, FEATURES))


def drawn(seed: int, n: int, shift: float = 0.0) -> Outputs:
    """Outputs with features."""
    rng = np.random.default_rng(seed)
    features = CENTRES[rng.integers(0, 10, n)] + rng.normal(size=(n, 40)) @ MIXING
    features += 0.5 * rng.normal(size=(n, FEATURES)) + shift * rng.normal(size=FEATURES)
    none = np.zeros(n, np.int64)
    return Outputs(none, none, np.ones(n), features=np.maximum(features, 0).astype(np.float32))


class Timer:
    """Wall and CPU seconds by name."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = defaultdict(float)
        self.cpu: dict[str, float] = defaultdict(float)

    def time(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function."""
        start, cpu = time.perf_counter(), time.process_time()
        result = function(*arguments)
        self.wall[name] += time.perf_counter() - start
        self.cpu[name] += time.process_time() - cpu
        return result


def moments(base: Outputs, target: Outputs) -> None:
    """Compute what the distances share."""
    assert base.moments
    assert target.moments
    assert len(base.moments.root)


def naive_frechet(one: np.ndarray, other: np.ndarray) -> float:
    """The distance with a general square root of a matrix."""
    first, second = (np.cov(x.astype(np.float64), rowvar=False) for x in (one, other))
    difference = one.mean(axis=0, dtype=float) - other.mean(axis=0, dtype=float)
    root = scipy.linalg.sqrtm(first @ second).real
    return float(difference @ difference + np.trace(first + second - 2 * root))


def measure(n_sets: int) -> list[dict[str, object]]:
    """Time all scores, and the naive distance."""
    timer, base = Timer(), drawn(1, BASE)
    for n in REFERENCES:
        timer.time(f"codebook of {n}", fit_codebook, drawn(2, n).features, 80)
    sources = Sources(base, drawn(2, REFERENCES[0]), {"n_prototypes": 80})
    names = (*QUICK, *DISCRIMINATORS)
    fitted = {n: timer.time(f"{n}, fit", SCORES[n].fit, sources) for n in names}
    for i in range(n_sets):
        target = drawn(10 + i, IMAGES, 0.2 * i / n_sets)
        sides = Sides(base, target)
        timer.time("moments", moments, base, target)
        found = {n: timer.time(n, SCORES[n].compute, fitted[n], sides) for n in names}
        if i < COMPARED:
            naive = timer.time("naive", naive_frechet, base.features, target.features)
            assert np.isclose(found["frechet"], naive, rtol=1e-6)
    quick = [n for n in timer.wall if n.split(",")[0] in (*QUICK, "moments")]
    for sums in (timer.wall, timer.cpu):
        sums["all but discriminators"] = sum(sums[n] for n in quick)
        sums["discriminators"] = sum(sums[n] for n in DISCRIMINATORS)
    apart = (timer.wall["moments"] + timer.wall["frechet"]) / n_sets
    ratio = timer.wall.pop("naive") / min(COMPARED, n_sets) / apart
    return [
        {
            "what": name,
            "sets": n_sets,
            "seconds": round(wall, 2),
            "cpu_seconds": round(timer.cpu[name], 2),
            "naive_ratio": round(ratio, 1) if name == "frechet" else "",
            "peak_mib": peak_mib(),
        }
        for name, wall in timer.wall.items()
        if wall >= 0.005
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=180)
    rows = measure(parser.parse_args().sets)
    write_results("feature_scores", rows, "numpy", "scipy", "scikit-learn")
