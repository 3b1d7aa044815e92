"""The configuration's block `matching`."""

from typing import Annotated

from pydantic import Field

from matcheval.protocol.criteria import EPSILON, N_SEEDS, Criterion
from matcheval.settings import Count, Integer, Names, Number, Settings, Unique, UniqueItems


class MatchingSettings(Settings):
    """How models' predictions are matched, and what is drawn of single models."""

    criteria: Annotated[tuple[Criterion, ...], Unique, UniqueItems, Field(min_length=1)] = Field(
        (Criterion.LABEL_PROBABILITY, Criterion.PROBABILITY),
        description="Algorithms 1 and 2: predicted label and probability agree, or the latter",
    )
    epsilon: Annotated[Number, Field(gt=0, le=1)] = Field(
        EPSILON, description="Largest difference of matched probabilities"
    )
    seeds: Count = Field(N_SEEDS, description="Runs per model: seeds 0, 1, ...")
    models_per_job: Count = Field(
        64, description="Models in one job: matching takes milliseconds, starting a job a second"
    )
    reliability_models: Names = Field((), description="Models with a reliability diagram each")
    reliability_bins: Annotated[Integer, Field(ge=2)] = Field(
        10, description="Bins of a reliability diagram"
    )
    save_pairs: Names = Field((), description="Models whose matched index pairs are written")
