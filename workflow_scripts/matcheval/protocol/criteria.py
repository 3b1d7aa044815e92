"""The settings of the protocol that people choose: criterion, epsilon and pairs of sets.

Light to import, so that a dry run and the figures need not load the compiled matching.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from matcheval.errors import InputError

# The paper's settings; config.yaml has the same, a test sees to it.
EPSILON = 0.005
N_SEEDS = 10

# Names of models, datasets, pairs and studies become parts of file names.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


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


@dataclass(frozen=True)
class Pair:
    """Two similar-but-non-identical sets.

    Attributes
    ----------
    name : str
        Name of the pair; it seeds the random picks.
    original, replication : str
        Names of the sets.
    source : str or None
        Which of the two is the source; None for the protocol's rule, see `source_is_original`.
    """

    name: str
    original: str
    replication: str
    source: str | None = None

    def source_is_original(self, n_original: int, n_replication: int) -> bool:
        """Whether the original is the source: as named, else the larger, else the original.

        Raises
        ------
        InputError
            If the named source is neither set.
        """
        if self.source is None:
            return n_original >= n_replication
        if self.source not in (self.original, self.replication):
            raise InputError(
                f"source '{self.source}' of pair '{self.name}' is neither '{self.original}' nor "
                f"'{self.replication}'"
            )
        return self.source == self.original
