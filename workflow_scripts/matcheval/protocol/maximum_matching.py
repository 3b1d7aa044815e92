"""The size of a largest possible matching, which the greedy protocol need not reach."""

import heapq

import numpy as np
import numpy.typing as npt

from matcheval.jit import compiled
from matcheval.protocol.plans import MatchingPlan


def maximum_size(plan: MatchingPlan) -> int:
    """Count the targets that a largest matching of a plan has a source point for."""
    return int(
        _count(plan.low, plan.high, np.argsort(plan.low, kind="stable"), len(plan.source_order))
    )


@compiled()
def _count(
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
    by_low: npt.NDArray[np.int64],
    n_source: int,
) -> int:
    """Go through the source positions; the heap holds the ends of the open targets' intervals."""
    ends = [np.int64(0) for _ in range(0)]
    matched, following = 0, 0
    for position in range(n_source):
        while following < len(by_low) and low[by_low[following]] <= position:
            heapq.heappush(ends, high[by_low[following]])
            following += 1
        while len(ends) and ends[0] <= position:
            heapq.heappop(ends)
        if len(ends):
            heapq.heappop(ends)
            matched += 1
    return matched
