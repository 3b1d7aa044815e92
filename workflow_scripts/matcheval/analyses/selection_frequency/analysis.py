"""Accuracy by selection frequency, as an analysis."""

from typing import ClassVar

from pydantic import Field

from matcheval.errors import InputError
from matcheval.settings import Named, Names, Settings
from matcheval.study.dataset_tables import DatasetTableAnalysis


class SelectionFrequencySettings(Settings):
    """Which datasets, each with its file of selection frequencies.

    The file is empty for a dataset that was sampled from a pool with annotations.
    """

    datasets: Named[str] = Field({}, description="File of selection frequencies, by dataset")
    without: Names = Field((), description="Models that are not counted")


class SelectionFrequency(DatasetTableAnalysis):
    """Compares accuracies on images that more or fewer annotators selected for their class."""

    name: ClassVar[str] = "selection_frequency"
    Settings: ClassVar[type[SelectionFrequencySettings]] = SelectionFrequencySettings
    has_figure: ClassVar[bool] = True

    def check(self) -> None:
        """Check also that the frequencies of every dataset are known."""
        super().check()
        for dataset in self.dataset_files:
            if not self.file_of(dataset):
                raise InputError(
                    f"'{dataset}' was not sampled from a pool with annotations, so that its "
                    "selection frequencies must be given",
                    file="configuration",
                    field=self.field("datasets"),
                    remedy="Name a file with columns index, n_annotations, n_selected",
                )

    def file_of(self, dataset: str) -> str:
        """Return the file of selection frequencies: the user's, or that of a sampled dataset.

        Parameters
        ----------
        dataset : str
            Name of the dataset.
        """
        built = self.study.built_datasets.get(dataset)
        return super().file_of(dataset) or (built.selection_frequencies if built else "")
