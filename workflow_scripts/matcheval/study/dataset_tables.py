"""Analyses with one table per dataset, computed from which datapoints models classify correctly."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from matcheval.io.files import file_states
from matcheval.settings import Named, Names, PathText, Settings
from matcheval.study.analysis import Analysis, Wildcards

if TYPE_CHECKING:
    from matcheval.study.study import Study


class DatasetTableSettings(Settings):
    """The datasets that tables are made for, and the models in these tables."""

    datasets: Names = Field((), description="Datasets that a table is made for")
    without: Names = Field((), description="Models that are not counted")


class DatasetFileSettings(Settings):
    """The datasets that tables are made for, with a file of the user's for each."""

    datasets: Named[PathText] = Field({}, description="The user's file, by dataset")
    without: Names = Field((), description="Models that are not counted")


class DatasetTableAnalysis(Analysis):
    """An analysis with one table per dataset, from the datapoints that models classify correctly.

    The rules of all such analyses are in `rules/dataset_tables.smk`, so that most of them need no
    rule file of their own. The module `tables` of the room has `SCHEMA` (a `TableSchema`),
    `tabulate(known, dataset, file, **options)`, which makes the table from a `Correctness`, the
    dataset's name and the user's file (empty if there is none), and `text_columns(table)`, which
    lays it out for reading.

    Attributes
    ----------
    has_figure : bool
        Whether the room's module `figures` has `plot(table)`.
    file_columns : tuple of str
        Columns that the user's files must have.
    """

    rule_files: ClassVar[tuple[str, ...]] = ("dataset_tables",)
    has_figure: ClassVar[bool] = False
    file_columns: ClassVar[tuple[str, ...]] = ("index",)

    def __init__(self, settings: Any, study: "Study") -> None:
        super().__init__(settings, study)
        labels = {"table": self.name, "of": "{dataset}"}
        self.result = self.table("{dataset}", self.name, labels)
        self.plot = self.figure(f"{self.name}/{{dataset}}", self.name, labels)

    @property
    def dataset_files(self) -> Mapping[str, str]:
        """Path of the user's file for each dataset, by its name; empty if there is no file."""
        datasets = self.settings.datasets
        return datasets if isinstance(datasets, Mapping) else dict.fromkeys(datasets, "")

    @property
    def options(self) -> dict[str, Any]:
        """Further arguments of the function `tabulate` that makes the table."""
        return {"confidence": self.study.confidence}

    def check(self) -> None:
        """Check datasets, files and models."""
        self.study.check_models(self.settings.without, self.field("without"))
        for dataset, file in self.dataset_files.items():
            self.check_has_correctness(dataset, self.field("datasets"))
            if file:
                self.check_file(file, self.field("datasets"), self.file_columns)

    def file_of(self, dataset: str) -> str:
        """Return the file that is read besides predictions, empty if there is none.

        Parameters
        ----------
        dataset : str
            Name of the dataset.
        """
        return self.dataset_files[dataset]

    @property
    def targets(self) -> list[str]:
        """Tables, and figures if there are such."""
        artifacts = [self.result, self.plot] if self.has_figure else [self.result]
        names = list(self.dataset_files)
        return [file for artifact in artifacts for file in artifact.expand(dataset=names)]

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the inputs of a dataset's table: predictions, and the user's file if there is one.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset`.
        """
        file = self.file_of(wildcards.dataset)
        results = self.study.results_inputs(wildcards.dataset, self.models)
        return [*results, *([file] if file else [])]

    def parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a dataset's table.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset`.
        """
        return {
            "room": self.room,
            "spec": vars(self.study.datasets[wildcards.dataset]),
            "models": self.models,
            "predictions": self.study.probability_files(wildcards.dataset, self.models),
            "file": self.file_of(wildcards.dataset),
            "options": self.options,
        }

    def custom_files_state(self, wildcards: Wildcards) -> list[list[tuple[int, int]]]:
        """Return size and time of the user's files that a dataset's table is made from.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset`.
        """
        file = self.dataset_files[wildcards.dataset]
        return [
            file_states([file] if file else []),
            self.study.custom_results_state(wildcards.dataset, self.models),
        ]
