"""The kind of dataset that a warehouse's sets are."""

from typing import Literal

from pydantic import Field

from matcheval.datasets.kind import DatasetKind, PixelFormat
from matcheval.settings import Count, Name, PathText, Settings


class WarehouseSet(DatasetKind):
    """A set of a warehouse, which a suite names by `warehouse`."""

    kind: Literal["warehouse_set"]
    warehouse: PathText = Field(description="The warehouse's file (docs/warehouse.md)")
    set: Name = Field(description="Name of the set")
    side: Count = Field(32, description="Height and width of the images, in pixels")

    @property
    def pixel_format(self) -> PixelFormat:
        """RGB images of this side."""
        return PixelFormat(self.side)


class WarehouseAnalysisSettings(Settings):
    """Warehouses have their settings in files of their own."""
