"""Ranges that options are drawn from. Does not import torch."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Range:
    """The distribution of an option in a random search, as metadata of the option's type.

    Attributes
    ----------
    low, high : float
        Bounds of the uniform distribution of the value, or of its decimal logarithm.
    logarithmic : bool
        Whether the logarithm is drawn.
    whole : bool
        Whether the value is rounded to a whole number.
    """

    low: float
    high: float
    logarithmic: bool = False
    whole: bool = False

    def draw(self, rng: np.random.Generator) -> float:
        """Draw a value.

        Parameters
        ----------
        rng : numpy.random.Generator

        Returns
        -------
        float
            Not rounded.
        """
        value = float(rng.uniform(self.low, self.high))
        return 10**value if self.logarithmic else value


def powers_of_ten(low: float, high: float, *, whole: bool = False) -> Range:
    """Return the range of 10^U(low, high), in the notation of DomainBed.

    Parameters
    ----------
    low, high : float
        Bounds of the exponent.
    whole : bool
        As for `Range`.

    Returns
    -------
    Range
    """
    return Range(low, high, logarithmic=True, whole=whole)
