"""Isotonic regression in a compiled loop: to import SciPy takes far longer than the fits."""

import numpy as np
import numpy.typing as npt

from matcheval.jit import compiled


@compiled()
def isotonic_fit(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Fit values by a non-decreasing sequence: pool adjacent violators, as SciPy does to the bit.

    Busing (2022), Journal of Statistical Software 102(1), Algorithm 2.
    """
    n = len(values)
    mean, weight, end = values.copy(), weights.copy(), np.arange(1, n + 1)
    last, i = -1, 0  # the last of the pools so far, and the next value
    while i < n:
        x, w, total = values[i], weights[i], values[i] * weights[i]
        i += 1
        if last >= 0 and mean[last] >= x:
            total = weight[last] * mean[last] + total
            w += weight[last]
            x = total / w
            last -= 1
            while i < n and x >= values[i]:
                total += weights[i] * values[i]
                w += weights[i]
                x = total / w
                i += 1
            while last >= 0 and mean[last] >= x:
                total += weight[last] * mean[last]
                w += weight[last]
                x = total / w
                last -= 1
        last += 1
        mean[last], weight[last], end[last] = x, w, i
    fitted, start = np.empty(n), 0
    for pool in range(last + 1):
        fitted[start : end[pool]] = mean[pool]
        start = end[pool]
    return fitted
