"""How far data support a claim: established, suggested, or inconclusive.

A report makes several claims at once. A claim is established if it holds for an interval wide
enough for all of them together (Bonferroni), so that at most one report in twenty has an
established claim that is wrong, at a level of 95 %, if images are independent or their groups are
given; it is suggested if it holds for the interval of this quantity alone. What holds only if an
assumption does, which no label tests, is assumed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

from matcheval.statistics.intervals import LEVEL, normal_factor

FEW_GROUPS = 10  # intervals from fewer are uncertain: nothing is established from them
_NORMAL = NormalDist()
_LEAST_ERROR = 1e-9  # resamples that are all alike have one by rounding
POWER = 0.8  # of the smallest difference that is said to have shown


class Strength(StrEnum):
    """How far data support a claim."""

    ESTABLISHED = "established"
    SUGGESTED = "suggested"
    ASSUMED = "assumed"
    OPEN = "inconclusive"


@dataclass(frozen=True)
class Evidence:
    """An estimated difference with the interval that is reported, NaN where there is none."""

    value: float
    low: float
    high: float
    error: float  # standard error
    bias: float = 0.0  # by how much the estimate may be off in any number of datapoints
    n_groups: int = 0  # of the set that has fewer; 0 for independent datapoints

    @classmethod
    def of_interval(
        cls, value: float, low: float, high: float, level: float = LEVEL, *,
        bias: float = 0.0, n_groups: int = 0,
    ) -> "Evidence":  # fmt: skip
        """Return evidence with the standard error that follows from an interval's longer side.

        Of few groups, bootstrap resamples spread too little: by √((n - 1) / n).
        """
        spread = math.sqrt(n_groups / (n_groups - 1)) if n_groups > 1 else 1.0
        error = max(value - low, high - value) / normal_factor(level) * spread
        return cls(value, low, high, error, bias, n_groups)

    @property
    def is_defined(self) -> bool:
        """Whether the estimate is finite, with a finite standard error above 0."""
        return bool(math.isfinite(self.value) and _LEAST_ERROR < self.error < math.inf)

    def joint_half(self, joint_level: float, n_claims: int) -> float:
        """Return half the width of the interval of one of several claims (Bonferroni)."""
        level = 1 - (1 - joint_level) / n_claims
        factor = _NORMAL.inv_cdf((1 + level) / 2)
        if self.n_groups:
            from scipy.special import stdtrit  # slow to import

            factor = float(stdtrit(self.n_groups - 1, (1 + level) / 2))
        return factor * self.error + self.bias

    def joint_interval(self, joint_level: float, n_claims: int) -> tuple[float, float]:
        """Return the interval of one of several claims, which hold together (Bonferroni)."""
        half = self.joint_half(joint_level, n_claims)
        return self.value - half, self.value + half

    def differs(self, joint_level: float, n_claims: int) -> Strength:
        """Return how strongly the data support that the difference is not 0."""
        return self._strength(lambda low, high: not low <= 0 <= high, joint_level, n_claims)

    def is_below(self, margin: float, joint_level: float, n_claims: int) -> Strength:
        """Return how strongly the data support that |difference| is below a margin."""
        return self._strength(
            lambda low, high: -margin < low <= high < margin, joint_level, n_claims
        )

    def p_value(self) -> float:
        """Return the two-sided p-value of no difference; NaN without an error or of few groups."""
        if not self.is_defined or self.has_few_groups:
            return math.nan
        z = max(abs(self.value) - self.bias, 0.0) / self.error
        if not self.n_groups:
            return math.erfc(z / math.sqrt(2))
        from scipy.special import stdtr

        return float(2 * stdtr(self.n_groups - 1, -z))

    @property
    def has_few_groups(self) -> bool:
        """Whether the datapoints are in groups that are too few for a reliable interval."""
        return 0 < self.n_groups < FEW_GROUPS

    def _strength(
        self, holds: Callable[[float, float], bool], joint_level: float, n_claims: int
    ) -> Strength:
        """Return how strongly the data support what `holds` says of a lower and an upper bound."""
        if not self.is_defined or not holds(self.low - self.bias, self.high + self.bias):
            return Strength.OPEN
        if self.has_few_groups or not holds(*self.joint_interval(joint_level, n_claims)):
            return Strength.SUGGESTED
        return Strength.ESTABLISHED

    def detectable(self, joint_level: float, n_claims: int) -> float:
        """Return the smallest true difference that 80 % of all samples would establish (power)."""
        return self.joint_half(joint_level, n_claims) + _NORMAL.inv_cdf(POWER) * self.error
