"""The configuration's block `matching`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from matcheval.protocol.criteria import EPSILON as EPSILON
from matcheval.protocol.criteria import MARGIN as MARGIN
from matcheval.protocol.criteria import MAX_SEEDS as MAX_SEEDS
from matcheval.protocol.criteria import N_SEEDS as N_SEEDS
from matcheval.protocol.criteria import N_SEEDS_COMPARED as N_SEEDS_COMPARED
from matcheval.protocol.criteria import Criterion as Criterion
from matcheval.protocol.criteria import matching_label as matching_label
from matcheval.settings import (
    Count,
    Integer,
    ModelNames,
    Named,
    Number,
    Settings,
    Unique,
    UniqueItems,
)

if TYPE_CHECKING:
    from matcheval.predictions.records import Predictions


class Order(StrEnum):
    """The order in which targets are matched: that of the dataset, or a random one per run."""

    DATASET = "dataset"
    RANDOM = "random"


# Ranks differ by 0.005 of the pooled datapoints at most, as confidences do by 0.005, but always by
# this many: in small sets, fewer points would be within reach than on confidence.
MIN_RANKS = 10
# Ranks are multiples of 1/2 and exact; a bound such as 0.005 N is rounded.
_RANK_ROUNDING = 1e-9


@dataclass(frozen=True)
class MeasuredScores:
    """The scores of both sets, and the largest difference of scores that are matched."""

    source: npt.NDArray[Any]
    target: npt.NDArray[Any]
    largest_difference: float


def pooled_ranks(
    source: npt.NDArray[Any], target: npt.NDArray[Any], epsilon: float
) -> MeasuredScores:
    """Rank the scores of both sets among all of them; ε is a share of their number."""
    _, which = np.unique(np.concatenate([source, target]), return_inverse=True)
    return ranks_of_positions(which[: len(source)], which[len(source) :], epsilon)


def ranks_of_positions(
    source: npt.NDArray[np.int64], target: npt.NDArray[np.int64], epsilon: float
) -> MeasuredScores:
    """Rank two sets together, given each score's number among the distinct scores in order."""
    counts = np.bincount(np.concatenate([source, target]))
    ranks = np.cumsum(counts) - (counts - 1) / 2  # from the highest rank of each distinct score
    bound = max(epsilon * (len(source) + len(target)), MIN_RANKS) + _RANK_ROUNDING
    return MeasuredScores(ranks[source], ranks[target], bound)


class Score(StrEnum):
    """The score by which two datapoints are compared."""

    CONFIDENCE = "confidence"
    CONFIDENCE_RANK = "confidence_rank"

    @property
    def label(self) -> str:
        """The name of the score for readers."""
        return "confidence" if self is Score.CONFIDENCE else "pooled ranks of the confidence"

    @property
    def is_pooled(self) -> bool:
        """Whether a datapoint's score depends on the other datapoints of both sets."""
        return self is Score.CONFIDENCE_RANK

    def measure(
        self, source: "Predictions", target: "Predictions", epsilon: float
    ) -> MeasuredScores:
        """Score both sets: by confidence, or by its rank, which no increasing map changes."""
        if self is Score.CONFIDENCE:
            return MeasuredScores(source.probability, target.probability, epsilon)
        return pooled_ranks(source.probability, target.probability, epsilon)


Epsilon = Annotated[Number, Field(gt=0, le=1)]
_SHORT_FORM = ("criteria", "epsilon")


class MatchingMethod(Settings):
    """How targets are matched: by which criterion and score, how closely, in which order."""

    criterion: Criterion = Field(
        description="Predicted label and score agree (Algorithm 1), or the latter (2)"
    )
    score: Score = Field(Score.CONFIDENCE, description="What is compared besides the label")
    epsilon: Epsilon = Field(
        EPSILON, description="Largest difference of matched scores; of ranks, as a share of all"
    )
    order: Order = Field(
        Order.DATASET,
        description="In which targets are matched; drawn anew for every run if random",
    )

    @property
    def unusual(self) -> dict[str, str]:
        """The settings `score` and `order`, if they are not the paper's."""
        return self.model_dump(mode="json", include={"score", "order"}, exclude_defaults=True)

    def title(self, name: str = "") -> str:
        """Return the matching's title for readers: its criterion, and score or order if unusual."""
        text = self.criterion.description
        if self.score is not Score.CONFIDENCE:
            text += f" on {self.score.label}"
        if self.order is Order.RANDOM:
            text += ", targets in random order"
        return text if name in ("", self.criterion.value) else f"{name}: {text}"


class MatchingSettings(Settings):
    """How models' predictions are matched, and what is drawn of single models."""

    criteria: Annotated[tuple[Criterion, ...], Unique, UniqueItems, Field(min_length=1)] = Field(
        (Criterion.LABEL_PROBABILITY, Criterion.PROBABILITY),
        description="Algorithms 1 and 2: predicted label and probability agree, or the latter",
    )
    epsilon: Epsilon = Field(EPSILON, description="Largest difference of matched probabilities")
    matchings: Annotated[Named[MatchingMethod], Field(min_length=1)] | None = Field(
        None, description="Named matchings, in place of `criteria` and `epsilon`"
    )
    seeds: Annotated[Count, Field(le=MAX_SEEDS)] = Field(
        N_SEEDS, description="Runs per model: seeds 0, 1, ..."
    )
    margin: Annotated[Number, Field(gt=0, lt=1)] = Field(
        MARGIN, description="Differences of accuracy below it do not matter, for the verdict"
    )
    models_per_job: Count = Field(
        160, description="Models in one job: matching takes milliseconds, starting a job a second"
    )
    reliability_models: ModelNames = Field((), description="Models with a reliability diagram each")
    reliability_bins: Annotated[Integer, Field(ge=2)] = Field(
        10, description="Bins of a reliability diagram"
    )
    save_pairs: ModelNames = Field((), description="Models whose matched index pairs are written")

    @model_validator(mode="after")
    def _check_form(self) -> Self:
        """Refuse `matchings` beside `criteria` or `epsilon`."""
        keys = [key for key in _SHORT_FORM if key in self.model_fields_set]
        if self.matchings is not None and keys:
            raise ValueError(
                f"'matchings' and {' and '.join(map(repr, keys))} are given: name all matchings, "
                "with criterion and epsilon each, or give criteria and epsilon alone"
            )
        return self

    @property
    def methods(self) -> dict[str, MatchingMethod]:
        """All matching methods by name; without `matchings`, those of `criteria` by their names."""
        if self.matchings is not None:
            return self.matchings
        return {
            criterion.value: MatchingMethod(criterion=criterion, epsilon=self.epsilon)
            for criterion in self.criteria
        }
