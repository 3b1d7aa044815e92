"""What the gaps of many models consist of, at the size of ImageNet and ImageNetV2.

    python benchmarks/gaps.py [MODELS ...]

CPU seconds of each part for a few models, and what follows for 286: all are linear in the number of
models. The decomposition has 1,000 resamples of 50,000 and 10,000 datapoints, the no-warning
reference 20 splits; both criteria, ten seeds.
"""

import sys

import numpy as np
from common import peak_mib, processor_seconds, write_results

from helpers import simulate
from matcheval.datasets.suites import Pair
from matcheval.protocol.compared_models import ComparedModels
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.decomposition import bin_sets, decompose_models, scored
from matcheval.protocol.gaps import estimate_gaps
from matcheval.protocol.no_warning import no_warning_reference
from matcheval.protocol.settings import MatchingSettings

METHODS = MatchingSettings().methods
ALL_MODELS = 286


def estimate_references(comparisons) -> None:
    """Compute the no-warning references of all models and criteria."""
    for method in METHODS.values():
        for comparison in comparisons:
            no_warning_reference(comparison, method)


def time_parts(n_models: int) -> list[dict]:
    """Time the parts of the gaps of some models; return a row per part."""
    rng = np.random.default_rng(0)
    labels = [rng.integers(0, 1_000, n) for n in (50_000, 10_000)]  # models share them
    comparisons = [
        Comparison(
            f"m{i}", Pair("p", "o", "r"), simulate(50_000, 1_000, 2 * i, label=labels[0]),
            simulate(10_000, 1_000, 2 * i + 1, accuracy=0.8, label=labels[1]),
        )
        for i in range(n_models)
    ]  # fmt: skip
    no_warning_reference(comparisons[0], next(iter(METHODS.values())))  # compiled by now
    parts = {
        "decomposition": lambda: decompose_models([bin_sets(*scored(c)) for c in comparisons]),
        "references": lambda: estimate_references(comparisons),
        "all": lambda: estimate_gaps(
            ComparedModels(comparisons[0].pair, tuple(comparisons), METHODS, tuple(range(10)))
        ),
    }
    rows = []
    for name, part in parts.items():
        taken = processor_seconds(part)
        rows.append(
            {
                "part": name, "models": n_models, "cpu_s": round(taken, 2),
                "cpu_s_for_286": round(taken * ALL_MODELS / n_models),
            }
        )  # fmt: skip
    return [row | {"peak_mib": peak_mib()} for row in rows]


if __name__ == "__main__":
    sizes = [int(text) for text in sys.argv[1:]] or [8, 16]
    write_results("gaps", [row for n in sizes for row in time_parts(n)], "numpy", "scipy", "numba")
