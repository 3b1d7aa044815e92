"""The analysis of accuracy by selection frequency: settings, checks and files."""

from typing import ClassVar

from pydantic import Field

from matcheval.errors import configuration_error
from matcheval.settings import Named, Names, Settings
from matcheval.study.tables import DatasetTableAnalysis


class SelectionFrequencySettings(Settings):
    """Datasets to tabulate, each with its file of selection frequencies.

    Leave the name of the file empty (`""`) for a dataset that is sampled from a pool with
    annotations.
    """

    datasets: Named[str] = Field({}, description="File of selection frequencies, by dataset")
    without: Names = Field((), description="Models to leave out")


class SelectionFrequency(DatasetTableAnalysis):
    """Compare accuracies on images that annotators selected for their class more or less often."""

    name: ClassVar[str] = "selection_frequency"
    Settings: ClassVar[type[SelectionFrequencySettings]] = SelectionFrequencySettings
    has_figure: ClassVar[bool] = True
    file_columns: ClassVar[tuple[str, ...]] = ("index", "n_annotations", "n_selected")

    def check(self) -> None:
        """Check also that the selection frequencies of every dataset are known."""
        super().check()
        for dataset in self.dataset_files:
            if not self.file_of(dataset):
                raise configuration_error(
                    f"'{dataset}' is not sampled from a pool with annotations, so that a file with "
                    "its selection frequencies is required",
                    field=self.field("datasets"),
                    remedy="Name a file with the columns index, n_annotations and n_selected",
                )

    def file_of(self, dataset: str) -> str:
        """Return the file of selection frequencies: the user's, or one written by sampling."""
        built = self.study.built_datasets.get(dataset)
        return super().file_of(dataset) or (built.selection_frequencies if built else "")
