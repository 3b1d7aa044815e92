"""The matching kernel against a literal transcription of the paper's pseudo-code, in one run.

    python benchmarks/matching.py

At the sizes of the paper's pairs: milliseconds of the plan (sorting and bisection, shared by the
seeds), of a run, of a run with its share of the plan over ten seeds, and of the transcription's
run; at a million points without the latter. Medians of repeated runs, the two sides alternating.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
from common import write_results

import reference
from helpers import simulate
from matcheval.protocol.matching import match, plan_matching
from matcheval.protocol.settings import Criterion, MatchingMethod

SEEDS = 10
# name, source points, target points, classes, whether the transcription runs too
SIZES = (
    ("CIFAR-10 / CIFAR-10.1", 10_000, 2_000, 10, True),
    ("CINIC-10 / CIFAR-10", 90_000, 10_000, 10, True),
    ("ImageNet / ImageNetV2", 50_000, 10_000, 1_000, True),
    ("125,000 / 125,000", 125_000, 125_000, 1_000, False),
    ("250,000 / 250,000", 250_000, 250_000, 1_000, False),
    ("500,000 / 500,000", 500_000, 500_000, 1_000, False),
    ("1,000,000 / 1,000,000", 1_000_000, 1_000_000, 1_000, False),
)


def milliseconds(function: Callable[[], object]) -> float:
    """Return the wall time of one call, in milliseconds."""
    start = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - start)


def time_matching(
    name: str, n_source: int, n_target: int, n_classes: int, transcribe: bool
) -> list[dict]:
    """Time plan, runs and transcription of the matching at one size; a row per criterion."""
    source = simulate(n_source, n_classes, 1)
    target = simulate(n_target, n_classes, 2, accuracy=0.8)
    rows = []
    for criterion in Criterion:
        method = MatchingMethod(criterion=criterion)
        plan = plan_matching(source, target, method)
        match(plan, np.random.default_rng(0))  # compiled by now
        plans, runs, transcriptions = [], [], []
        for repeat in range(5 if n_source <= 100_000 else 3):
            plans.append(milliseconds(lambda m=method: plan_matching(source, target, m)))
            runs.extend(
                milliseconds(lambda p=plan, s=seed: match(p, np.random.default_rng(s)))
                for seed in range(SEEDS)
            )
            if transcribe:
                generator = np.random.default_rng(repeat)
                transcriptions.append(
                    milliseconds(
                        lambda c=criterion, g=generator: reference.match(
                            source, target, c, 0.005, g
                        )
                    )
                )
        plan_ms, run_ms = statistics.median(plans), statistics.median(runs)
        amortised = run_ms + plan_ms / SEEDS
        n = n_source + n_target
        row = {
            "size": name,
            "criterion": criterion.value,
            "plan_ms": round(plan_ms, 2),
            "run_ms": round(run_ms, 3),
            "run_amortised_ms": round(amortised, 3),
            "amortised_ns_per_n_log2_n": round(1e6 * amortised / (n * np.log2(n_source)), 3),
            "transcription_ms": "",
            "ratio": "",
        }
        if transcribe:
            row["transcription_ms"] = round(statistics.median(transcriptions), 1)
            row["ratio"] = round(row["transcription_ms"] / amortised)
        rows.append(row)
    return rows


if __name__ == "__main__":
    results = [row for size in SIZES for row in time_matching(*size)]
    write_results("matching", results, "numpy", "numba")
