"""The configuration's block `retraining`: analyses that train further models."""

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
    """What all experiments have in common."""

    kind: str
    models: SomeNames = Field(description="Models with a recipe, which are trained again")
    pair: Name = Field(description="The pair that it is about")


class HalfOfNew(ExperimentSettings):
    """Half of the new set joins the training set; the other half is the test set."""

    kind: Literal["half_of_new"]
    seeds: Count = Field(description="Divisions of the new set: seeds 0, 1, ...")


class CrossValidation(ExperimentSettings):
    """Folds of the training set take the place of the test set."""

    kind: Literal["cross_validation"]
    folds: Annotated[Integer, Field(ge=2)] = Field(description="Of the training set")
    seed: Seed = Field(description="Of the division into folds")


class Discriminator(ExperimentSettings):
    """A network learns to tell the two sets of a pair apart."""

    kind: Literal["discriminator"]
    per_set: Annotated[Integer, Field(ge=2)] = Field(description="Images of each set")
    test_fraction: OpenFraction = Field(description="Of these, for testing")
    seed: Seed = Field(description="Of the choice of images")


class Grid(ExperimentSettings):
    """Models are trained with other hyper-parameters."""

    kind: Literal["grid"]
    values: Annotated[dict[str, Values], Field(min_length=1)] = Field(
        description="Values to try, by field of the recipe"
    )


Experiment = Annotated[
    HalfOfNew | CrossValidation | Discriminator | Grid, Field(discriminator="kind")
]


class RetrainingSettings(Settings):
    """Experiments, by name."""

    experiments: Named[Experiment] = Field({}, description="By name")
