"""Where the predictions on the sets of a suite, and on the base they are compared with, are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from matcheval.datasets.specs import DatasetSpec
from matcheval.datasets.suites import Suite
from matcheval.errors import ErrorCollector, unknown_name_error
from matcheval.execution.resources import ResourceRequest
from matcheval.inference.files import predictions_file
from matcheval.io.files import file_states
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import Layout, layout_of
from matcheval.predictions.records import Predictions
from matcheval.settings import Name, Named, Names, PathText, Settings
from matcheval.study.analysis import Analysis, Wildcards

if TYPE_CHECKING:
    from matcheval.study.study import Study


@dataclass(frozen=True)
class SuiteFiles:
    """The predictions of some models on a suite and its base.

    Attributes
    ----------
    suite : Suite
    base : str
        Name of the set that its sets are compared with.
    specs : mapping of str to DatasetSpec
        The base and all sets, by name.
    folders : mapping of str to Path
        Folders of those that have images.
    predictions : Path
        Folder of the files that inference wrote.
    models : sequence of str
    """

    suite: Suite
    base: str
    specs: Mapping[str, DatasetSpec]
    folders: Mapping[str, Path]
    predictions: Path
    models: Sequence[str]

    def paths(self, dataset: str) -> list[str]:
        """Return the files of all models on a set: the user's if it has no images.

        Parameters
        ----------
        dataset : str
            The base, or a set of the suite.
        """
        if dataset in self.folders:
            folder = self.predictions
            return [str(predictions_file(folder, dataset, model)) for model in self.models]
        return [self.specs[dataset].results_file(model) for model in self.models]

    def read(self, dataset: str) -> list[Predictions]:
        """Read the predictions of all models on a set.

        Parameters
        ----------
        dataset : str
            The base, or a set of the suite.

        Raises
        ------
        InputError
            If files are missing or invalid, naming all of them.
        """
        problems, found = ErrorCollector(), []
        layout = Layout() if dataset in self.folders else layout_of(self.specs[dataset])
        for path in self.paths(dataset):
            with problems.collected():
                found.append(read_predictions(Path(path), layout=layout))
        problems.raise_any()
        return found


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


class SuiteTableSettings(Settings):
    """Suites that a table is made for, each with the set that its sets are compared with."""

    suites: Named[Name] = Field(
        {}, description="The base, a dataset that models are evaluated on, by suite"
    )
    without: Names = Field((), description="Models to leave out")


class SuiteTableAnalysis(Analysis):
    """An analysis with a table and a figure for each of some suites.

    The rules of all such analyses are in `rules/suite_tables.smk`, so that none needs a rule file
    of its own. The module `tables` of the room has `SCHEMA` (a `TableSchema`), `tabulate(files,
    **options)`, which makes the table from `SuiteFiles`, and `text_columns(table)`, which lays it
    out for reading; `figures` has `plot(table)`. A subclass says what it asks of a suite
    (`check_suite`), the options, and what a job needs (`request`).
    """

    rule_files: ClassVar[tuple[str, ...]] = ("suite_tables",)
    Settings: ClassVar[type[SuiteTableSettings]] = SuiteTableSettings
    settings: SuiteTableSettings

    def __init__(self, settings: Any, study: "Study") -> None:
        super().__init__(settings, study)
        labels = {"table": self.name, "of": "{suite}"}
        self.result = self.table("{suite}", self.name, labels)
        self.plot = self.figure(f"{self.name}/{{suite}}", self.name, labels)

    def check(self) -> None:
        """Check the names of suites, bases and models, and each suite.

        Raises
        ------
        InputError
            If a name is unknown, no model is left, or as `check_suite`.
        """
        self.study.check_models(self.settings.without, self.field("without"))
        if self.settings.suites:
            self.check_some_models()
        for name, base in self.settings.suites.items():
            if name not in self.study.suites:
                raise unknown_name_error(
                    "suite", name, self.study.suites, file="configuration",
                    field=self.field("suites"),
                )  # fmt: skip
            self.check_suite(name, base)

    def check_suite(self, name: str, base: str) -> None:
        """Check that a suite and its base can be compared.

        Parameters
        ----------
        name, base : str
            Names of the suite, which is known, and of the base, which may not be.

        Raises
        ------
        InputError
            Naming the key and the value.
        """
        raise NotImplementedError

    @property
    def options(self) -> dict[str, Any]:
        """Further arguments of the function `tabulate` that makes the table."""
        return {}

    def request(self, wildcards: Wildcards) -> ResourceRequest:
        """Return what the table of a suite takes.

        Parameters
        ----------
        wildcards : Wildcards
            `suite`.
        """
        raise NotImplementedError

    @property
    def targets(self) -> list[str]:
        """A table and a figure for every suite."""
        suites = list(self.settings.suites)
        return [*self.result.expand(suite=suites), *self.plot.expand(suite=suites)]

    def datasets_of(self, suite: str) -> list[str]:
        """Return the names of the base and of the sets of a suite, each once.

        Parameters
        ----------
        suite : str
            Its name.
        """
        base = self.settings.suites[suite]
        return list(dict.fromkeys([base, *self.study.suites[suite].datasets]))

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what the table of a suite waits for.

        Parameters
        ----------
        wildcards : Wildcards
            `suite`.
        """
        base = self.settings.suites[wildcards.suite]
        return self.study.suite_inputs(wildcards.suite, self.models, [base])

    def parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the table of a suite.

        Parameters
        ----------
        wildcards : Wildcards
            `suite`.
        """
        study = self.study
        specs = {name: study.datasets[name] for name in self.datasets_of(wildcards.suite)}
        files = {
            "suite": asdict(study.suites[wildcards.suite]),
            "base": self.settings.suites[wildcards.suite],
            "specs": {name: vars(spec) for name, spec in specs.items()},
            "folders": {n: study.dataset_folder(n) for n, spec in specs.items() if spec.has_images},
            "predictions": study.predictions_folder,
            "models": self.models,
        }
        return {"room": self.room, "files": files, "options": self.options}

    def custom_files_state(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's files that the table of a suite is made from.

        Parameters
        ----------
        wildcards : Wildcards
            `suite`.
        """
        base = self.settings.suites[wildcards.suite]
        return self.study.custom_suite_state(wildcards.suite, self.models, [base])

    @property
    def resource_requests(self) -> Mapping[str, Callable[[Any], ResourceRequest]]:
        """Of the table; figures are small."""
        return {f"tabulate_{self.name}": self.request}
