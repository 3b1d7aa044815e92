"""The options of datasets of kind `features`."""

from typing import Literal

from pydantic import Field, model_validator

from matcheval.datasets.kind import DatasetKind
from matcheval.errors import InputError
from matcheval.models.rows import CALLABLE, PACKAGE, ModelSource
from matcheval.settings import Boolean, Name, Settings


class FeaturesSettings(Settings):
    """Datasets of kind `features` are computed with the settings of `inference`."""


class FeaturesDataset(DatasetKind):
    """The features that a network computes of another dataset's images."""

    kind: Literal["features"]
    of: Name = Field(description="The dataset of images")
    package: str | None = Field(
        None, description="Package of weights and architecture of timm, as in a model catalogue"
    )
    callable: str | None = Field(
        None, description="Module and function that returns the network, as in a model catalogue"
    )
    as_stored: Boolean = Field(
        False,
        description="Normalise the images, and do not resize and crop them as for the network",
    )

    @model_validator(mode="after")
    def _one_network(self) -> "FeaturesDataset":
        if (self.package is None) == (self.callable is None):
            raise ValueError("give the network as either 'package' or 'callable'")
        try:
            _ = self.network
        except InputError as error:
            raise ValueError(str(error)) from error
        return self

    @property
    def network(self) -> ModelSource:
        """What the network is loaded from."""
        kind = PACKAGE if self.package is not None else CALLABLE
        source = self.package or self.callable or ""
        return ModelSource.from_row("network", kind, {"source": source})
