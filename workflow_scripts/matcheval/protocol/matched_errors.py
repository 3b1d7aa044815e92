"""Standard error and interval of a matched gap, or in words why it has none.

All tables of matched gaps use these rules, so that none shows an error that another refuses.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from matcheval.protocol.blocks import Blocks
from matcheval.protocol.compared_models import MatchedModel, mean_of_defined
from matcheval.protocol.standard_errors import (
    ErrorTerms,
    error_interval,
    mean_terms,
    standard_error,
)

MIN_PAIRS = 30  # with fewer matched pairs, a standard error would pretend to know what it does not
_NAN = float("nan")


@dataclass(frozen=True)
class MatchedError:
    """How certain a matched gap is."""

    gap: float
    error: float
    low: float
    high: float
    reason: str

    @property
    def columns(self) -> dict[str, float]:
        """Values of the columns `matched_gap`, `matched_gap_se`, `_low` and `_high`."""
        return {
            "matched_gap": self.gap, "matched_gap_se": self.error,
            "matched_gap_low": self.low, "matched_gap_high": self.high,
        }  # fmt: skip


def matched_error(
    gap: float,
    n_matched: float,
    one_sided: Collection[str],
    terms: ErrorTerms,
    blocks: Blocks | None,
) -> MatchedError:
    """Compute the standard error of a matched gap, if there is one."""
    reason = _why_none(gap, n_matched, one_sided, blocks)
    error = _NAN if reason else standard_error(terms, blocks)
    return MatchedError(gap, error, *error_interval(gap, error, blocks), reason)


def _why_none(
    gap: float, n_matched: float, one_sided: Collection[str], blocks: Blocks | None
) -> str:
    if gap != gap:
        return "no matched gap: no target is matched in any run"
    if n_matched < MIN_PAIRS:
        return f"no standard error of the matched gap: fewer than {MIN_PAIRS} matched pairs"
    if one_sided:
        sets = " and ".join(one_sided)
        return f"no standard error of the matched gap: all predictions on {sets} are right or wrong"
    if blocks is not None and blocks.grouped and blocks.n < 2:
        return "no standard error of the matched gap: a set is a single group"
    return ""


def error_of_model(
    one: MatchedModel, blocks: Blocks | None, terms: ErrorTerms | None = None
) -> MatchedError:
    """Return one model's matched gap with its error."""
    terms = one.errors if terms is None else terms
    gap = mean_of_defined(one.matched_gaps)
    return matched_error(gap, one.n_matched, one.comparison.one_sided, terms, blocks)


def error_of_mean(models: Sequence[MatchedModel], blocks: Blocks | None) -> MatchedError:
    """Return the mean matched gap of several models with its error."""
    used = [one for one in models if one.n_matched] or list(models)
    gap = mean_of_defined([mean_of_defined(one.matched_gaps) for one in used])
    n_matched = mean_of_defined([one.n_matched for one in used])
    one_sided = sorted(set.intersection(*(set(one.comparison.one_sided) for one in used)))
    terms = mean_terms([one.errors for one in used])
    return matched_error(gap, n_matched, one_sided, terms, blocks)
