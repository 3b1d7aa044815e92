"""The two criteria and the settings of the paper, which command lines name, too."""

from enum import StrEnum

from matcheval.errors import InputError

# The paper's settings. A test checks that the defaults of config.yaml agree.
EPSILON = 0.005
_LARGE_EPSILON = 0.05  # above it, datapoints of different confidence are matched
MARGIN = 0.01  # differences of accuracy below it do not matter, if nobody says otherwise
MAX_SEEDS = 10_000  # matches of all runs are held in memory
N_SEEDS = 10
# Of a comparison without a study, so that the name of a file hardly changes its result.
N_SEEDS_COMPARED = 100


class Criterion(StrEnum):
    """What two datapoints must have in common to be matched.

    Under both criteria their probabilities differ by at most ε; under `LABEL_PROBABILITY` their
    predicted labels also agree.
    """

    LABEL_PROBABILITY = "label_probability"
    PROBABILITY = "probability"

    @property
    def label(self) -> str:
        """A short name by the paper's number, such as `criterion 1`."""
        return f"criterion {list(Criterion).index(self) + 1}"

    @property
    def matched_on(self) -> str:
        """What matched datapoints have in common: `label and confidence`, or `confidence`."""
        is_first = self is Criterion.LABEL_PROBABILITY
        return f"{'label and ' * is_first}confidence"

    @property
    def description(self) -> str:
        """The paper's number and what must agree, such as `criterion 2 (probability)`."""
        is_first = self is Criterion.LABEL_PROBABILITY
        return f"{self.label} ({'predicted label and ' * is_first}probability)"


def check_epsilon(epsilon: float) -> None:
    """Raise an error unless ε lies in (0, 1]."""
    if not 0 < epsilon <= 1:
        raise InputError(
            f"epsilon is {epsilon}", remedy="Give a number above 0 and at most 1, usually 0.005"
        )


def epsilon_warnings(epsilon: float) -> list[str]:
    """Return a warning if ε is so large that it matches datapoints of different confidence."""
    if epsilon <= _LARGE_EPSILON:
        return []
    return [
        f"epsilon {epsilon:g} matches datapoints whose confidences differ by up to "
        f"{100 * epsilon:g} points; the paper takes {EPSILON}"
    ]


def matching_label(name: str) -> str:
    """Return a short label of a matching, such as `criterion 1`; other names stay as they are."""
    return Criterion(name).label if name in list(Criterion) else name
