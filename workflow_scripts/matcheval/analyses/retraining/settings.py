"""The block `retraining` of the configuration: experiments that train further models."""

from typing import Annotated, Literal

from pydantic import Field

from matcheval.settings import (
    Count,
    Integer,
    Name,
    Named,
    OpenFraction,
    Seed,
    Settings,
    SomeNames,
    Unique,
    UniqueItems,
)

Values = Annotated[tuple[bool | int | float | str, ...], Unique, UniqueItems, Field(min_length=1)]


class ExperimentSettings(Settings):
    """Settings that all kinds of experiment share."""

    kind: str
    models: SomeNames = Field(description="Models of the catalogue, with a recipe, that are varied")
    pair: Name = Field(description="Pair of datasets that the experiment examines")


class HalfOfNew(ExperimentSettings):
    """Half of the new set is added to the training set; the other half is the test set."""

    kind: Literal["half_of_new"]
    seeds: Count = Field(
        description="Number of random divisions of the new set, with seeds 0, 1, ..."
    )


class CrossValidation(ExperimentSettings):
    """Folds of the training set replace the test set."""

    kind: Literal["cross_validation"]
    folds: Annotated[Integer, Field(ge=2)] = Field(
        description="Number of folds of the training set"
    )
    seed: Seed = Field(description="Seed of the division into folds")


class Discriminator(ExperimentSettings):
    """A network is trained to distinguish the two datasets of a pair."""

    kind: Literal["discriminator"]
    per_set: Annotated[Integer, Field(ge=2)] = Field(description="Number of images of each dataset")
    test_fraction: OpenFraction = Field(
        description="Fraction of these images that is held out for testing"
    )
    seed: Seed = Field(description="Seed of the random choice of images")


class Grid(ExperimentSettings):
    """Models are trained with every combination of the given hyper-parameters."""

    kind: Literal["grid"]
    values: Annotated[dict[str, Values], Field(min_length=1)] = Field(
        description="Values to try, by field of the recipe"
    )


Experiment = Annotated[
    HalfOfNew | CrossValidation | Discriminator | Grid, Field(discriminator="kind")
]


class RetrainingSettings(Settings):
    """Experiments that train further models."""

    experiments: Named[Experiment] = Field({}, description="Experiments, by name")
