"""The permutation null of the digits, and largest matchings of a million, as analyses of a pair.

    python benchmarks/pair_analyses.py

CPU seconds of one thread. The null has 999 random divisions of 600 and 497 datapoints, 20 models
and both criteria; it is also given as a ratio to as many runs of the plain kernel on plans that lie
ready. The largest matching is of a million targets with a million source points, both criteria,
plan included, as a ratio to one run of the protocol with its plan.
"""

import numpy as np
from common import processor_seconds, write_results

from helpers import simulate
from matcheval.analyses.permutation_null import tabulate
from matcheval.datasets.suites import Pair
from matcheval.protocol.compared_models import ComparedModels
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.matching import match, maximum_size, plan_matching
from matcheval.protocol.settings import MatchingSettings

METHODS = MatchingSettings().methods
SIZES, MODELS, PERMUTATIONS, MILLION = (600, 497), 20, 999, 1_000_000


def null() -> list[dict]:
    """The permutation null of as many models as the digits have."""
    rng = np.random.default_rng(0)
    labels = [rng.integers(0, 10, n) for n in SIZES]
    comparisons = tuple(
        Comparison(
            f"m{i}", Pair("p", "o", "r"),
            *(
                simulate(n, 10, 2 * i + side, accuracy=accuracy, label=labels[side])
                for side, (n, accuracy) in enumerate(zip(SIZES, (0.95, 0.9), strict=True))
            ),
        )
        for i in range(MODELS)
    )  # fmt: skip
    known = ComparedModels(comparisons[0].pair, comparisons, METHODS, tuple(range(10)))
    tabulate(known, permutations=1)  # compiled by now
    taken = processor_seconds(lambda: tabulate(known, permutations=PERMUTATIONS))
    one = comparisons[0]
    plans = [plan_matching(one.source, one.target, m) for m in METHODS.values()]

    def plain() -> None:
        generator = np.random.default_rng(0)
        for _ in range(MODELS * (PERMUTATIONS + 1)):
            for plan in plans:
                match(plan, generator)

    part = f"null, {MODELS} models, {PERMUTATIONS} permutations, 2 criteria"
    return [_row(part, taken, processor_seconds(plain))]


def largest() -> list[dict]:
    """The largest matching of a million with a million."""
    source = simulate(MILLION, 1_000, 1)
    target = simulate(MILLION, 1_000, 2, accuracy=0.8)
    rows = []
    for name, method in METHODS.items():
        plan = plan_matching(source, target, method)
        maximum_size(plan)  # compiled by now
        planning = processor_seconds(lambda m=method: plan_matching(source, target, m))
        taken = planning + processor_seconds(lambda p=plan: maximum_size(p))
        run = planning + processor_seconds(lambda p=plan: match(p, np.random.default_rng(0)))
        rows.append(_row(f"largest matching, a million each, {name}", taken, run))
    return rows


def _row(part: str, taken: float, kernel: float) -> dict:
    return {
        "part": part, "cpu_s": round(taken, 2), "kernel_cpu_s": round(kernel, 2),
        "ratio": round(taken / kernel, 1),
    }  # fmt: skip


if __name__ == "__main__":
    write_results("pair_analyses", [*null(), *largest()], "numpy", "numba")
