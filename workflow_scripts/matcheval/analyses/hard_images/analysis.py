"""The images that the fewest models classify correctly, as an analysis."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from matcheval.settings import Count, Number
from matcheval.study.analysis import Wildcards
from matcheval.study.dataset_tables import DatasetTableAnalysis, DatasetTableSettings
from matcheval.study.study import Study


class HardImagesSettings(DatasetTableSettings):
    """Which datasets, and how much is listed and drawn of them."""

    share: Annotated[Number, Field(gt=0, le=1)] = Field(
        0.05, description="Least share of a dataset that is listed as hard"
    )
    sheet: Count = Field(20, description="Images of a contact sheet")
    compare_size: Count | None = Field(
        None, description="Side to bring image files to; pixels as they are by default"
    )


class HardImages(DatasetTableAnalysis):
    """Lists the hardest images of a dataset, and draws them."""

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
        """The share of images that are listed."""
        return {"share": self.settings.share}

    @property
    def targets(self) -> list[str]:
        """Tables, and contact sheets of the datasets that have images."""
        drawn = [name for name in self.dataset_files if self.study.datasets[name].has_images]
        return [*super().targets, *self.sheet.expand(dataset=drawn)]

    def sheet_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a contact sheet.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset`.
        """
        return {
            "folder": self.study.dataset_folder(wildcards.dataset),
            "size": self.settings.compare_size,
            "sheet": self.settings.sheet,
        }
