"""What a score is: its name, what it needs, what it predicts, and how one is added.

A function of the outputs on two sets becomes a score by the decorator `SCORES.add` of its family.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores.outputs import Outputs

_Result = TypeVar("_Result")
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Array = TypeVar("_Array", bound=npt.NDArray[Any])

NO_SPREAD = "all confidences on the set are 1"
MIN_ROWS = 2  # datapoints of a set


class NotAvailableError(Exception):
    """A score cannot be computed on a set; the text is the reason that tables give."""


def usable(values: _Array) -> _Array:
    """Return logits or probabilities; raise if not finite or of fewer than 2 datapoints."""
    if len(values) < MIN_ROWS or not np.isfinite(values).all():
        raise NotAvailableError("fewer than 2 datapoints, or logits that are not finite numbers")
    return values


def counted_logits(outputs: Outputs) -> npt.NDArray[Any]:
    """Return the logits of the classes that count; raise if groups or others can be predicted."""
    assert outputs.logits is not None
    rule = outputs.rule
    if not rule.columns:
        return outputs.logits
    if not rule.restrict_argmax or any(len(group) > 1 for group in rule.columns):
        raise NotAvailableError("defined for single classes and restrict_argmax: true only")
    return np.asarray(np.take(outputs.logits, rule.classes, axis=1))


class Noted(float):
    """A score with a remark on how far it can be relied on, which tables give."""

    note: str

    def __new__(cls, value: float, note: str = "") -> "Noted":
        """Attach a remark to the value of a score; an empty text is none."""
        noted = super().__new__(cls, value)
        noted.note = note
        return noted


class Data(StrEnum):
    """Data that a score may need; the value tells readers how to get them."""

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
    Data.PROBABILITIES: ("logits",),
    Data.GRAM: ("logits", "statistics"),
    Data.LOGITS: ("logits",),
    Data.FEATURES: ("features",),
    Data.STATISTICS: ("features", "statistics"),
}


class Predicts(StrEnum):
    """How an accuracy is predicted from a score: directly, or by which regression."""

    ACCURACY = "accuracy"  # the score is the predicted accuracy
    GAP = "gap"  # a regression on the score predicts base accuracy minus accuracy (P1)
    BY_REGRESSION = "regression"  # a regression on the score predicts the accuracy (P2)


@dataclass(frozen=True)
class Sides:
    """Outputs on base and target, both restricted to the classes that count (by `restrict`)."""

    base: Outputs  # B': datapoints of the base whose labels count
    target: Outputs  # T'
    seed: int = 0  # of random splits and initial values
    _shared: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """Return `function(self, *arguments)`, cached for all scores of these two sets."""
        if (key := (function, *arguments)) not in self._shared:
            self._shared[key] = function(self, *arguments)
        return self._shared[key]


@dataclass(frozen=True)
class Sources:
    """The data and options that a score is fitted to, once per model."""

    base: Outputs  # B with all of its classes
    reference: Outputs | None = None  # a training set, for features
    options: Mapping[str, Any] = field(default_factory=dict)  # settings by name: `n_prototypes`
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Described:
    """Metadata of a score, or of one of its variants."""

    method: str  # its name, such as `doc`
    title: str  # what readers call it
    needs: tuple[Data, ...] = ()
    predicts: Predicts
    direction: int  # 1 if the score rises with accuracy, -1 if it falls, 0 if neither
    variant: str = ""  # its name; empty for the default
    source: str  # paper and equation

    @property
    def name(self) -> str:
        """Method and variant: `atc_mc`, or `atc_mc:garg_code`."""
        return f"{self.method}:{self.variant}" if self.variant else self.method

    @property
    def full_title(self) -> str:
        """Title for readers, with the variant in brackets."""
        return f"{self.title} ({self.variant.replace('_', ' ')})" if self.variant else self.title


@dataclass(frozen=True, kw_only=True)
class Score(Described):
    """A score of one model's outputs.

    Attributes
    ----------
    function : callable
        Takes the two sets and, if there is a `fit`, what that returned; returns the score: a float,
        perhaps `Noted`, NaN where it is undefined. May raise `NotAvailableError`.
    fit : callable or None
        Takes `Sources`; its result is used for all sets.
    of_confidences : bool
        Whether it says nothing where all confidences on the set are 1.
    values : callable or None
        Takes the two sets and what `fit` returned; returns a value per datapoint of the target.
        Their mean is the score; the mean over a resample approximates the resample's score.
    """

    function: Callable[..., float]
    fit: Callable[[Sources], Any] | None = None
    values: Callable[[Sides, Any], npt.NDArray[np.float64]] | None = None
    of_confidences: bool = False

    def fitted(self, sources: Sources) -> Any:
        """Return the parameters fitted on the base set and reference; None if nothing is fitted."""
        return self.fit(sources) if self.fit else None

    def compute(self, fitted: Any, sides: Sides) -> float:
        """Compute the score on the target set; `fitted` is what `fitted()` returned."""
        target = sides.target
        if self.of_confidences and len(target) and (target.confidences == 1).all():
            raise NotAvailableError(NO_SPREAD)
        return self.function(sides, fitted) if self.fit else self.function(sides)


class Scores(dict[str, Score]):
    """The scores of a family, by name, in the order of tables."""

    def add(
        self, method: str, title: str, predicts: Predicts, direction: int, **others: Any
    ) -> Callable[[_Function], _Function]:
        """Declare that a function computes a score; `others` are further attributes of `Score`."""

        def declare(function: _Function) -> _Function:
            score = Score(
                method=method, title=title, predicts=predicts, direction=direction,
                function=function, **others,
            )  # fmt: skip
            self[score.name] = score
            return function

        return declare


def missing_inputs(score: Score, sources: Sources, target: Outputs) -> Sequence[Data]:
    """Return those data that a score needs and that the sources or the target lack."""
    outputs = (sources.base, target)
    present = {
        Data.BASE_LABELS: sources.base.labels is not None,
        Data.PROBABILITIES: all(side.probabilities is not None for side in outputs),
        Data.GRAM: target.probabilities is not None or target.statistics is not None,
        Data.LOGITS: all(side.logits is not None for side in outputs),
        Data.FEATURES: all(side.features is not None for side in outputs),
        Data.STATISTICS: all(
            side.features is not None or side.statistics is not None for side in outputs
        ),
        Data.REFERENCE: sources.reference is not None,
        Data.IMAGES: target.orientations is not None,
    }
    return [need for need in score.needs if not present.get(need, True)]
