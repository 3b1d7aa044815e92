"""Coverage of simultaneous intervals of paired differences between equal methods; no timing.

    python benchmarks/differences_coverage.py

Errors of 20 methods vary by subgroup, by model and by both; all true differences are 0. A draw
holds if every interval of its 190 pairs contains 0.
"""

import numpy as np
from common import write_results

from matcheval.accuracy_prediction.differences import simultaneous

METHODS, MODELS, SETS_OF_SUBGROUP, DRAWS, CONFIDENCE = 20, 15, 5, 300, 0.95
SUBGROUPS = (8, 12, 25)


def holds(n_subgroups: int, draw: int) -> bool:
    """Whether all intervals of one draw contain 0."""
    rng = np.random.default_rng([n_subgroups, draw])
    errors = rng.normal(size=(METHODS, 1, n_subgroups))
    errors = errors + 0.5 * rng.normal(size=(METHODS, MODELS, 1))
    errors = errors + 0.5 * rng.normal(size=(METHODS, MODELS, n_subgroups))
    subgroups = np.repeat(np.arange(n_subgroups), SETS_OF_SUBGROUP)
    found = simultaneous(errors[:, :, subgroups], subgroups, CONFIDENCE)
    low, high = np.moveaxis(found[np.triu_indices(METHODS, 1)], 1, 0)[1:]
    return bool(((low <= 0) & (high >= 0)).all())


if __name__ == "__main__":
    rows = []
    for n_subgroups in SUBGROUPS:
        held = sum(holds(n_subgroups, draw) for draw in range(DRAWS))
        rows.append({
            "subgroups": n_subgroups, "methods": METHODS, "models": MODELS, "draws": DRAWS,
            "all_held": round(held / DRAWS, 4),
        })  # fmt: skip
    write_results("differences_coverage", rows, "numpy")
