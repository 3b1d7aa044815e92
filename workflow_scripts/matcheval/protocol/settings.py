"""The configuration's block `matching`."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from matcheval.protocol.criteria import EPSILON, MAX_SEEDS, N_SEEDS, Criterion, Order
from matcheval.protocol.scores import Score
from matcheval.settings import Count, Integer, Named, Names, Number, Settings, Unique, UniqueItems

Epsilon = Annotated[Number, Field(gt=0, le=1)]
_SHORT_FORM = ("criteria", "epsilon")


class MatchingMethod(Settings):
    """How targets are matched. Methods with the same settings give the same runs."""

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
        """Score and order by key, where they are not the paper's."""
        return self.model_dump(mode="json", include={"score", "order"}, exclude_defaults=True)

    def title(self, name: str = "") -> str:
        """Return what readers call the matching: its criterion, and what else is unusual."""
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
    models_per_job: Count = Field(
        128, description="Models in one job: matching takes milliseconds, starting a job a second"
    )
    reliability_models: Names = Field((), description="Models with a reliability diagram each")
    reliability_bins: Annotated[Integer, Field(ge=2)] = Field(
        10, description="Bins of a reliability diagram"
    )
    save_pairs: Names = Field((), description="Models whose matched index pairs are written")

    @model_validator(mode="after")
    def _check_form(self) -> Self:
        given = [key for key in _SHORT_FORM if key in self.model_fields_set]
        if self.matchings is not None and given:
            raise ValueError(
                f"'matchings' and {' and '.join(map(repr, given))} are given: name all matchings, "
                "with criterion and epsilon each, or give criteria and epsilon alone"
            )
        return self

    @property
    def methods(self) -> dict[str, MatchingMethod]:
        """All matchings by name; those of the short form have their criterion's."""
        if self.matchings is not None:
            return self.matchings
        return {
            criterion.value: MatchingMethod(criterion=criterion, epsilon=self.epsilon)
            for criterion in self.criteria
        }
