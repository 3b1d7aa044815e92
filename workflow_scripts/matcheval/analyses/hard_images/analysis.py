"""The analysis of hard images: settings, options and contact sheets."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from matcheval.settings import Count, Number
from matcheval.study.analysis import Wildcards
from matcheval.study.study import Study
from matcheval.study.tables import DatasetTableAnalysis, DatasetTableSettings


class HardImagesSettings(DatasetTableSettings):
    """Datasets to tabulate, and how many hard images are listed and drawn."""

    share: Annotated[Number, Field(gt=0, le=1)] = Field(
        0.05, description="Smallest share of a dataset that is listed as hard"
    )
    sheet: Count = Field(20, description="Images on a contact sheet")
    renamed: ClassVar[Mapping[str, str]] = {"compare_size": "without a use: leave it out"}


class HardImages(DatasetTableAnalysis):
    """List and draw the images of a dataset that the fewest models classify correctly."""

    name: ClassVar[str] = "hard_images"
    rule_files: ClassVar[tuple[str, ...]] = ("dataset_tables", "hard_images")
    Settings: ClassVar[type[HardImagesSettings]] = HardImagesSettings

    def __init__(self, settings: HardImagesSettings, study: Study) -> None:
        super().__init__(settings, study)
        self.sheet = self.figure(
            "hard_images/{dataset}", "hard_images_sheet",
            {"table": self.name, "of": "{dataset} (images)"},
        )  # fmt: skip

    @property
    def options(self) -> dict[str, Any]:
        """Smallest share of the images that is listed."""
        return {"share": self.settings.share}

    @property
    def targets(self) -> list[str]:
        """Tables, and contact sheets of those datasets that have images."""
        drawn = [name for name in self.dataset_files if self.study.datasets[name].has_images]
        return [*super().targets, *self.sheet.expand(dataset=drawn)]

    def sheet_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a contact sheet."""
        return {
            "folder": self.study.dataset_folder(wildcards.dataset),
            "sheet": self.settings.sheet,
        }
