"""Near duplicates of test images among training images, as an analysis."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic import Field

from matcheval.analyses.near_duplicates.tables import SCHEMA, tabulate, text_columns  # noqa: F401
from matcheval.execution import resources
from matcheval.settings import Count, Name, Named, Names, PathText, Settings
from matcheval.study.requests import check_one_size, dataset_size
from matcheval.study.rules import Artifact, Wildcards
from matcheval.study.study import Study
from matcheval.study.tables import DatasetTableAnalysis


class Search(Settings):
    """A search for near duplicates of one dataset's images in another."""

    of: Name = Field(description="The dataset whose images are looked for")
    among: Name = Field(description="The dataset that they are looked for in")


class NearDuplicatesSettings(Settings):
    """Which datasets are searched, and what review found."""

    searches: tuple[Search, ...] = Field((), description="Searches to run")
    neighbours: Count = Field(10, description="Nearest images that a search keeps of each image")
    compare_size: Count | None = Field(
        None, description="Side to bring image files to; pixels as they are by default"
    )
    sheet: Count = Field(10, description="Rows of a contact sheet; ten fit on a page")
    reviewed: Named[PathText] = Field(
        {}, description="What review found: a CSV file with a column `index` per dataset"
    )
    without: Names = Field((), description="Models that are not counted")


class NearDuplicates(DatasetTableAnalysis):
    """Search for near duplicates, and accuracies with and without those found by review."""

    name: ClassVar[str] = "near_duplicates"
    Settings: ClassVar[type[NearDuplicatesSettings]] = NearDuplicatesSettings

    def __init__(self, settings: NearDuplicatesSettings, study: Study) -> None:
        super().__init__(settings, study)
        stem = "near_duplicates/{dataset}-in-{reference}"
        self.nearest = Artifact(f"{study.folder}/{stem}", (".parquet",))
        self.sheet = self.figure(
            stem, "near_duplicates_sheet",
            {"table": self.name, "of": "{dataset} in {reference} (images)"},
        )  # fmt: skip

    @property
    def dataset_files(self) -> Mapping[str, str]:
        """Datasets with reviewed near duplicates, each with the file that lists them."""
        files: Mapping[str, str] = self.settings.reviewed
        return files

    def check(self) -> None:
        """Check also the datasets of the searches."""
        super().check()
        for search in self.settings.searches:
            for key in ("of", "among"):
                field = self.field("searches", key)
                name = getattr(search, key)
                self.study.check_dataset(name, field, images=True)
                if self.settings.compare_size is None:
                    remedy = f"Add 'compare_size: 256' to {self.name}"
                    check_one_size(self.study, name, field=field, remedy=remedy)

    @property
    def targets(self) -> list[str]:
        """Results and contact sheets of the searches, and tables."""
        found = [
            file
            for search in self.settings.searches
            for artifact in (self.nearest, self.sheet)
            for file in artifact.expand(dataset=search.of, reference=search.among)
        ]
        return [*found, *super().targets]

    def searched_files(self, wildcards: Wildcards) -> list[str]:
        """Return the files of both datasets of a search."""
        names = (wildcards.dataset, wildcards.reference)
        return [file for name in names for file in self.study.dataset_files(name)]

    def search_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a search."""
        return {
            **self._folders(wildcards),
            "size": self.settings.compare_size,
            "k": self.settings.neighbours,
        }

    def sheet_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a search's contact sheet."""
        return {**self._folders(wildcards), "rows": self.settings.sheet}

    def _folders(self, wildcards: Wildcards) -> dict[str, Any]:
        return {
            "queries": self.study.dataset_folder(wildcards.dataset),
            "references": self.study.dataset_folder(wildcards.reference),
        }

    @property
    def resource_requests(self) -> Mapping[str, Callable[[Any], resources.ResourceRequest]]:
        """By the sizes of both datasets."""
        return {
            "search_near_duplicates": lambda wildcards: resources.of_searching(
                [dataset_size(self.study, n) for n in (wildcards.dataset, wildcards.reference)],
                self.settings.compare_size,
            )
        }
