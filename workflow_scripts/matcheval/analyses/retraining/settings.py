"""The configuration's block `retraining`: analyses that train further models."""

from typing import Annotated, Literal

from pydantic import Field

from matcheval.settings import Count, Integer, Name, Named, OpenFraction, Seed, Settings, SomeNames

Values = Annotated[tuple[bool | int | float | str, ...], Field(min_length=1)]


class ExperimentSettings(Settings):
    """What all experiments have in common."""

    kind: str
    models: SomeNames
    pair: Name


class HalfOfNew(ExperimentSettings):
    """Half of the new set joins the training set; the other half is the test set."""

    kind: Literal["half_of_new"]
    seeds: Count


class CrossValidation(ExperimentSettings):
    """Folds of the training set take the place of the test set."""

    kind: Literal["cross_validation"]
    folds: Annotated[Integer, Field(ge=2)]
    seed: Seed


class Discriminator(ExperimentSettings):
    """A network learns to tell the two sets of a pair apart."""

    kind: Literal["discriminator"]
    per_set: Annotated[Integer, Field(ge=2)]
    test_fraction: OpenFraction
    seed: Seed


class Grid(ExperimentSettings):
    """Models are trained with other hyper-parameters."""

    kind: Literal["grid"]
    values: Annotated[dict[str, Values], Field(min_length=1)]


Experiment = Annotated[
    HalfOfNew | CrossValidation | Discriminator | Grid, Field(discriminator="kind")
]


class RetrainingSettings(Settings):
    """Experiments, by name."""

    experiments: Named[Experiment] = {}
