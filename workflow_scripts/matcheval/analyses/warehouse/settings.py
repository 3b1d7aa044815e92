"""The kind of dataset that a warehouse's sets are."""

from typing import Literal

from pydantic import Field

from matcheval.datasets.kind import DatasetKind
from matcheval.settings import Count, Name, PathText, Settings


class WarehouseSet(DatasetKind):
    """A set of a warehouse, which a suite names by `warehouse`."""

    kind: Literal["warehouse_set"]
    warehouse: PathText = Field(description="The warehouse's file (docs/warehouse.md)")
    set: Name = Field(description="Name of the set")
    side: Count = Field(32, description="Height and width of the images, in pixels")

    @property
    def resized_to(self) -> int:
        """Height and width of the images."""
        return self.side


class WarehouseAnalysisSettings(Settings):
    """Warehouses have their settings in files of their own."""
