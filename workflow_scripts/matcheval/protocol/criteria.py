"""The two matching criteria of the protocol, its tolerance ε and the order of its targets.

Kept apart from the matching so that a dry run and the figures need not load numba.
"""

from enum import StrEnum

from matcheval.errors import InputError

# The paper's settings. A test checks that the defaults of config.yaml agree.
EPSILON = 0.005
MAX_SEEDS = 10_000  # matches of all runs are held in memory
N_SEEDS = 10


class Criterion(StrEnum):
    """What two datapoints must have in common to be matched.

    Under both criteria their probabilities differ by at most ε; under `LABEL_PROBABILITY` their
    predicted labels also agree.
    """

    LABEL_PROBABILITY = "label_probability"
    PROBABILITY = "probability"

    @property
    def label(self) -> str:
        """The paper's number of the criterion."""
        return f"criterion {list(Criterion).index(self) + 1}"

    @property
    def description(self) -> str:
        """The paper's number of the criterion, and what must agree."""
        is_first = self is Criterion.LABEL_PROBABILITY
        return f"{self.label} ({'predicted label and ' * is_first}probability)"


def matching_label(name: str) -> str:
    """Return what readers call a matching where there is little room."""
    return Criterion(name).label if name in list(Criterion) else name


class Order(StrEnum):
    """The order in which targets are matched: as in the dataset, or drawn anew for every run."""

    DATASET = "dataset"
    RANDOM = "random"


def check_epsilon(epsilon: float) -> float:
    """Check that ε lies in (0, 1], and return it."""
    if not 0 < epsilon <= 1:
        raise InputError(
            f"epsilon is {epsilon}", remedy="Give a number above 0 and at most 1, usually 0.005"
        )
    return epsilon
