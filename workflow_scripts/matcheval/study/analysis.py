"""The base class of analyses: settings, checks, files, and what an analysis adds to a study.

Every analysis lies in a folder of its own (its room), declares itself by a class derived from
`Analysis` in the room's `analysis.py`, and has one line in `matcheval.registry`.
docs/architecture.md tells how to add one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from matcheval.datasets.derived import Derivation
from matcheval.datasets.kind import DatasetKind
from matcheval.errors import configuration_error
from matcheval.io.user_files import check_header
from matcheval.report.sections import Section
from matcheval.settings import Settings
from matcheval.study.artifacts import TABLE_SUFFIXES, Artifact, ReportEntry
from matcheval.study.reported import shown_files
from matcheval.study.trained_models import TestedModels, TrainedModel

if TYPE_CHECKING:
    from matcheval.execution.resources import ResourceRequest
    from matcheval.study.study import Study


class Wildcards(Protocol):
    """Values of a job's wildcards, as attributes."""

    def __getattr__(self, name: str) -> str:
        """Return the value of a wildcard."""


@dataclass(frozen=True)
class BuiltDataset:
    """A dataset of the configuration that an analysis builds from other datasets.

    Attributes
    ----------
    sources : tuple of str
        Names of the datasets it is built from; the first tells how large it can be.
    version : int
        Raised by hand when an edit changes what is built.
    selection_frequencies : str
        File with columns `index`, `n_annotations`, `n_selected` and `frequency` of its images;
        empty if there is none.
    """

    sources: tuple[str, ...]
    version: int
    selection_frequencies: str = ""


class Analysis:
    """Base class of the analyses: what one computes from a study, its files, and its settings.

    Parameters
    ----------
    settings : Settings
        Its block of the study file.
    study : Study
        Analyses that precede this one in the registry are loaded already.

    Attributes
    ----------
    name : str
        Its key in the configuration, and the name of its rule file, folder of results and page.
    Settings : type of Settings
        Class of its settings, with defaults for all that can be left out.
    dataset_kinds : mapping
        Kinds of dataset that it builds, by name.
    rule_files : tuple of str
        Files in `rules/` with its rules, without suffix; its name by default.
    """

    name: ClassVar[str]
    Settings: ClassVar[type[Settings]]
    dataset_kinds: ClassVar[Mapping[str, type[DatasetKind]]] = {}
    rule_files: ClassVar[tuple[str, ...]] = ()

    def __init__(self, settings: Any, study: "Study") -> None:
        self.settings, self.study = settings, study

    @property
    def models(self) -> list[str]:
        """Names of the models of the study, but those that its setting `without` leaves out."""
        left_out = getattr(self.settings, "without", ())
        return [name for name in self.study.models if name not in left_out]

    @classmethod
    def rules(cls) -> tuple[str, ...]:
        """Files in `rules/` with its rules, without suffix."""
        return cls.rule_files or (cls.name,)

    @property
    def room(self) -> str:
        """The package that the analysis lies in."""
        return type(self).__module__.rpartition(".")[0]

    def check(self) -> None:
        """Check that the names, choices and files in the settings are valid, before any job starts.

        Raises
        ------
        InputError
            Naming the key and the value.
        """

    @property
    def targets(self) -> list[str]:
        """All files that it builds for the study."""
        return []

    @property
    def first_page(self) -> str:
        """The file of its targets to read first: a page, else a table, else a figure, if any."""
        for suffix in (".md", ".html", ".csv", *self.study.figure_suffixes):
            for file in self.targets:
                if file.endswith(suffix):
                    return file
        return ""

    @property
    def derivations(self) -> Mapping[str, Derivation]:
        """Datasets that it derives from the study's, by name."""
        return {}

    @property
    def trained(self) -> Mapping[str, TrainedModel]:
        """Models that it trains, by name."""
        return {}

    @property
    def tested(self) -> Mapping[str, TestedModels]:
        """Models of `trained` and the datasets to test them on, by name of the inference job."""
        return {}

    @property
    def trained_on(self) -> tuple[str, ...]:
        """Datasets of the configuration that it trains on, besides the study's training sets."""
        return ()

    @property
    def built_datasets(self) -> Mapping[str, BuiltDataset]:
        """Datasets of the configuration that it builds, by name."""
        return {}

    @property
    def evaluated(self) -> tuple[str, ...]:
        """Datasets that models are run on for it, besides those of pairs and suites."""
        return ()

    @property
    def shared_meanings(self) -> Mapping[str, Mapping[str, Any]]:
        """Definitions of names whose files studies share, by category and name."""
        return {}

    @property
    def resource_requests(self) -> "Mapping[str, Callable[[Any], ResourceRequest]]":
        """Resource requests of its rules' jobs, by rule; jobs of the other rules are small."""
        return {}

    @property
    def report_section(self) -> Section:
        """Its section of the study's report: by default its tables for readers and its figures.

        An analysis with a section of its own design names further files in `data`, which the
        function `content` of the module `report` of its room reads, and has a template
        `report.html` there.
        """
        return self.section()

    def section(
        self,
        data: Mapping[str, Sequence[str]] | None = None,
        values: Mapping[str, Any] | None = None,
        left_out: Iterable[Artifact] = (),
    ) -> Section:
        """Return a section of the study's report.

        Parameters
        ----------
        data, values : mapping, optional
            See `Section`.
        left_out : iterable of Artifact
            Files that the section shows in another way.
        """
        shown = shown_files(self, left_out)
        settings = self.settings.model_dump(mode="json") if shown or data else {}
        return Section(
            self.name, self.title(), self.room, shown, data or {}, values or {}, settings
        )  # fmt: skip

    def shown_wildcards(self, wildcards: Mapping[str, str]) -> Mapping[str, str]:
        """Return the wildcards of a file as the report names them.

        Parameters
        ----------
        wildcards : mapping of str to str
            As in the file's path.
        """
        return wildcards

    def table(self, stem: str, caption: str, labels: Mapping[str, str]) -> Artifact:
        """Declare a table, written as Parquet, CSV, LaTeX and Markdown; reports show the latter.

        Parameters
        ----------
        stem : str
            Path below the analysis's folder, with wildcards.
        caption : str
            See `ReportEntry`.
        labels : mapping
            See `ReportEntry`.
        """
        return Artifact(
            f"{self.study.folder}/{self.name}/{stem}",
            TABLE_SUFFIXES,
            ReportEntry(self.title(), caption, labels),
            (".md",),
        )

    def figure(self, stem: str, caption: str, labels: Mapping[str, str]) -> Artifact:
        """Declare a figure, written in the formats that the study names; reports show it.

        Parameters
        ----------
        stem : str
            Path below the study's folder of figures, with wildcards.
        caption, labels
            As for `table`.
        """
        return Artifact(
            f"{self.study.folder}/figures/{stem}",
            self.study.figure_suffixes,
            ReportEntry(self.title(), caption, labels),
            self.study.figure_suffixes,
        )

    @classmethod
    def title(cls) -> str:
        """The name that readers see, such as `Class gaps`."""
        return cls.name.replace("_", " ").capitalize()

    def field(self, *keys: str) -> str:
        """Return the full name of a setting, such as `groups.datasets`, for error messages.

        Parameters
        ----------
        *keys : str
            Keys below the analysis's block.
        """
        return ".".join((self.name, *keys))

    def check_some_models(self) -> None:
        """Check that the setting `without` leaves a model.

        Raises
        ------
        InputError
            If it leaves out all of them.
        """
        if not self.models:
            raise configuration_error("all models are left out", field=self.field("without"))

    def check_has_accuracies(self, dataset: str, field: str) -> None:
        """Check that models are run on a dataset.

        Parameters
        ----------
        dataset : str
            Name of a dataset.
        field : str
            The key that names it.

        Raises
        ------
        InputError
            If it is unknown, or in no pair and no suite.
        """
        self.study.check_dataset(dataset, field)
        if dataset not in self.study.evaluated:
            raise configuration_error(
                f"'{dataset}' is in no pair and no suite, so that no model is run on it",
                field=field,
            )

    def check_has_correctness(self, dataset: str, field: str) -> None:
        """Check that correctness will be known for each datapoint of a dataset.

        Parameters
        ----------
        dataset, field : str
            As for `check_has_accuracies`.

        Raises
        ------
        InputError
            As `check_has_accuracies`, and if only accuracies are published.
        """
        self.check_has_accuracies(dataset, field)
        if not self.study.datasets[dataset].kind_class.has_correctness:
            raise configuration_error(
                f"'{dataset}' has accuracies only, not the correctness of each datapoint",
                field=field,
            )

    def check_file(self, path: str, field: str, columns: Sequence[str] = ()) -> None:
        """Check that a file of the user's exists and, if it is a CSV file, its columns.

        Parameters
        ----------
        path : str
            The file.
        field : str
            The key that names it.
        columns : sequence of str
            Columns that it must have.

        Raises
        ------
        InputError
            If it does not exist, or a column is missing.
        """
        if not Path(path).is_file():
            raise configuration_error(f"no such file: {path}", field=field)
        if columns and not path.endswith(".parquet"):
            check_header(path, columns)
