"""The analysis of revisions of a dataset: settings, checks and files."""

from typing import Any, ClassVar

from pydantic import Field

from matcheval.settings import Named, Names, Settings, SomeNames
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Wildcards
from matcheval.study.study import Study


class RevisionsSettings(Settings):
    """Series of datasets, each with the successive revisions of one dataset."""

    series: Named[SomeNames] = Field(
        {}, description="Datasets of each series, from the first to the last revision"
    )
    without: Names = Field((), description="Models to leave out")


class Revisions(Analysis):
    """Tabulate how accuracies change from one revision of a dataset to the next."""

    name: ClassVar[str] = "revisions"
    Settings: ClassVar[type[RevisionsSettings]] = RevisionsSettings
    settings: RevisionsSettings

    def __init__(self, settings: RevisionsSettings, study: Study) -> None:
        super().__init__(settings, study)
        labels = {"table": self.name, "of": "{series}"}
        self.result = self.table("{series}", "revisions", labels)

    def check(self) -> None:
        """Check names of datasets and models."""
        self.study.check_models(self.settings.without, self.field("without"))
        for name, datasets in self.settings.series.items():
            for dataset in datasets:
                self.check_has_accuracies(dataset, self.field("series", name))

    @property
    def targets(self) -> list[str]:
        """A table for every series."""
        return self.result.expand(series=self.settings.series)

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the tables of accuracies on the revisions of a series."""
        datasets = self.settings.series[wildcards.series]
        return [self.study.accuracies_file(name) for name in datasets]

    def parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the table of a series."""
        return {
            "datasets": list(self.settings.series[wildcards.series]),
            "without": list(self.settings.without),
            "confidence": self.study.confidence,
        }
