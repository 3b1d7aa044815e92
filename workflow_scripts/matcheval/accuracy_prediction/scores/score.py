"""What a score is: its name, what it needs, what it predicts, and the functions that compute it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from typing import Any, TypeVar

from matcheval.accuracy_prediction.scores.outputs import Outputs

_Result = TypeVar("_Result")


NO_SPREAD = "all confidences on the set are 1"


class NotAvailableError(Exception):
    """A score cannot be computed on a set; the text is the reason that tables give."""


class Need(StrEnum):
    """An input that a score cannot do without; the value is how a reader gets it."""

    BASE_LABELS = "labels of the base set"
    PROBABILITIES = "probabilities of all classes: inference.outputs: [logits]"
    GRAM = "probabilities or their statistics: inference.outputs: [logits] or [statistics]"
    LOGITS = "logits: inference.outputs: [logits]"
    FEATURES = "features: inference.outputs: [features]"
    STATISTICS = "features or their statistics: inference.outputs: [statistics]"
    REFERENCE = "a reference set: accuracy_prediction.suites.<suite>.reference"
    MODELS = "predictions of at least three models"
    IMAGES = "a pass over turned images: accuracy_prediction.suites.<suite>.rotation"


# Outputs of inference that meet a need: one of them is enough.
OUTPUTS_FOR = {
    Need.PROBABILITIES: ("logits",),
    Need.GRAM: ("logits", "statistics"),
    Need.LOGITS: ("logits",),
    Need.FEATURES: ("features",),
    Need.STATISTICS: ("features", "statistics"),
}


class Predicts(StrEnum):
    """What a score is turned into."""

    ACCURACY = "accuracy"  # the score is the predicted accuracy
    GAP = "gap"  # a regression on the score predicts base accuracy minus accuracy (P1)
    BY_REGRESSION = "regression"  # a regression on the score predicts the accuracy (P2)


@dataclass(frozen=True)
class Sides:
    """The two sets of a score, both cut to the classes that count (`subsets.restrict`).

    Attributes
    ----------
    base : Outputs
        B': datapoints of the base whose labels count.
    target : Outputs
        T'.
    seed : int
        Of random splits and initial values.
    """

    base: Outputs
    target: Outputs
    seed: int = 0
    _shared: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, function: Callable[["Sides"], _Result]) -> _Result:
        """Return a function of the two sets, which is computed once for all scores that ask for it.

        Parameters
        ----------
        function : callable
            Takes these sides.
        """
        if function not in self._shared:
            self._shared[function] = function(self)
        result: _Result = self._shared[function]
        return result


@dataclass(frozen=True)
class Sources:
    """What a score is fitted on, once per model.

    Attributes
    ----------
    base : Outputs
        B with all of its classes.
    reference : Outputs or None
        A training set, for features; None if there is none.
    options : mapping of str to value
        The fields of `settings.ScoreSettings`, by name.
    seed : int
    """

    base: Outputs
    reference: Outputs | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0


def with_spread(compute: Callable[[Any, Sides], float]) -> Callable[[Any, Sides], float]:
    """Make a score of confidences not available where all of them are 1."""

    @wraps(compute)
    def checked(state: Any, sides: Sides) -> float:
        if len(sides.target) and (sides.target.confidences == 1).all():
            raise NotAvailableError(NO_SPREAD)
        return compute(state, sides)

    return checked


def nothing(sources: Sources) -> None:
    """Fit nothing."""


@dataclass(frozen=True)
class Described:
    """What is known of a score, or of one variant of a score.

    Attributes
    ----------
    method : str
        Name of the method, such as `doc`.
    title : str
        What readers call it.
    needs : tuple of Need
    predicts : Predicts
    direction : int
        1 if the score rises with accuracy, -1 if it falls, 0 if neither.
    variant : str
        Name of the variant; empty for the default.
    source : str
        Paper and equation.
    """

    method: str
    title: str
    needs: tuple[Need, ...]
    predicts: Predicts
    direction: int
    variant: str = field(default="", kw_only=True)
    source: str = field(default="", kw_only=True)

    @property
    def name(self) -> str:
        """Method and variant: `atc_mc`, or `atc_mc:garg_code`."""
        return f"{self.method}:{self.variant}" if self.variant else self.method


@dataclass(frozen=True)
class Score(Described):
    """A score of one model's outputs.

    Attributes
    ----------
    compute : callable
        Takes what `fit` returned and the two sets, and returns the score: a float, NaN where it is
        undefined. May raise `NotAvailableError`.
    fit : callable
        Takes `Sources`; its result is used for all sets.
    """

    compute: Callable[[Any, Sides], float]
    fit: Callable[[Sources], Any] = nothing


def missing_inputs(score: Score, sources: Sources, target: Outputs) -> Sequence[Need]:
    """Return what a score needs and is not on file."""
    base, reference = sources.base, sources.reference

    def has_statistics(one: Outputs) -> bool:
        return one.features is not None or one.statistics is not None

    present = {
        Need.BASE_LABELS: base.labels is not None,
        Need.PROBABILITIES: None not in (_first(base.probabilities), _first(target.probabilities)),
        Need.GRAM: target.probabilities is not None or target.statistics is not None,
        Need.LOGITS: None not in (_first(base.logits), _first(target.logits)),
        Need.FEATURES: None not in (_first(base.features), _first(target.features)),
        Need.STATISTICS: has_statistics(base) and has_statistics(target),
        Need.REFERENCE: reference is not None,
        Need.IMAGES: target.orientations is not None,
    }
    return [need for need in score.needs if not present.get(need, True)]


def _first(array: Any) -> bool | None:
    return None if array is None else True
