"""The two matching criteria of the protocol and its tolerance ε, with the paper's defaults.

Light to import: a dry run and the figures need not load the compiled matching.
"""

from enum import StrEnum

from matcheval.errors import InputError

# The paper's settings; config.yaml has the same, a test sees to it.
EPSILON = 0.005
N_SEEDS = 10


class Criterion(StrEnum):
    """When a source point may be matched to a target point, besides being close."""

    LABEL_PROBABILITY = "label_probability"
    PROBABILITY = "probability"

    @property
    def description(self) -> str:
        """How the paper numbers it, and what must agree."""
        if self is Criterion.LABEL_PROBABILITY:
            return "criterion 1 (predicted label and probability)"
        return "criterion 2 (probability)"


def check_epsilon(epsilon: float) -> float:
    """Return `epsilon` if it is in (0, 1], where it means something.

    Raises
    ------
    InputError
        Otherwise, NaN included.
    """
    if not 0 < epsilon <= 1:
        raise InputError(
            f"epsilon is {epsilon}", remedy="Give a number above 0 and at most 1; 0.005 is usual"
        )
    return float(epsilon)
