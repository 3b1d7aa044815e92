"""A quantity with its interval, as results of the Python interface have it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A quantity with its 95 % interval for the sampling of the sets.

    Attributes
    ----------
    value : float
        Fraction; gaps are original minus replication. NaN if it is not defined.
    low, high : float
        Bounds of the interval; NaN if there is none.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return the value in percent or percentage points, with its interval."""
        text = f"{100 * self.value + 0.0:.2f}"
        if self.low != self.low:  # NaN
            return text
        return f"{text} [{100 * self.low + 0.0:.2f}, {100 * self.high + 0.0:.2f}]"
