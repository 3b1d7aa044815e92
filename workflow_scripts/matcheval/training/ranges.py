"""Ranges that options are drawn from. Does not import torch."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Range:
    """The distribution of an option in a random search, as metadata of the option's type."""

    low: float
    high: float
    logarithmic: bool = False
    whole: bool = False

    def draw(self, rng: np.random.Generator) -> float:
        """Draw a value."""
        value = float(rng.uniform(self.low, self.high))
        return 10**value if self.logarithmic else value


def powers_of_ten(low: float, high: float, *, whole: bool = False) -> Range:
    """Return the range of 10^U(low, high), in the notation of DomainBed."""
    return Range(low, high, logarithmic=True, whole=whole)
