"""The exact decomposition of a gap by a matching: matched gap, source selection, dropped targets.

With source S, target T, matched subsets MS and MT, unmatched targets U and u = |U| / |T|:

    a_S - a_T = (a_MS - a_MT) + (a_S - a_MS) + u (a_MT - a_UT)

References
----------
After Ñopo (2008), Review of Economics and Statistics 90.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GapTerms:
    """What a gap consists of, signed as original minus replication; they add up to the gap."""

    matched_gap: Floats
    source_selection: Floats
    dropped_targets: Floats


def gap_terms(
    *,
    accuracy_source: npt.ArrayLike,
    matched_accuracy_source: npt.ArrayLike,
    matched_accuracy_target: npt.ArrayLike,
    unmatched_accuracy_target: npt.ArrayLike,
    fraction_unmatched: npt.ArrayLike,
    source_is_original: npt.ArrayLike = True,
) -> GapTerms:
    """Divide the gaps of runs into their terms.

    A mean over seeds is the mean of each term over the seeds with a matched pair: a product of
    means is not the mean of the products.

    Parameters
    ----------
    accuracy_source, matched_accuracy_source, matched_accuracy_target : array-like, shape (n,)
        As in `schemas.RUN_COLUMNS`, a run each.
    unmatched_accuracy_target, fraction_unmatched : array-like, shape (n,)
        Likewise. The first is not used where the second is 0.
    source_is_original : array-like of bool
        Sign of the terms: they are original minus replication.

    Returns
    -------
    GapTerms
        Arrays of shape (n,).
    """
    source, matched_source, matched_target, unmatched, share = (
        np.asarray(values, np.float64)
        for values in (
            accuracy_source, matched_accuracy_source, matched_accuracy_target,
            unmatched_accuracy_target, fraction_unmatched,
        )
    )  # fmt: skip
    sign = np.where(source_is_original, 1.0, -1.0)
    dropped = np.where(share == 0, 0.0, share * (matched_target - unmatched))
    return GapTerms(
        matched_gap=sign * (matched_source - matched_target),
        source_selection=sign * (source - matched_source),
        dropped_targets=sign * dropped,
    )
