"""Analyses with one table per suite, which compare every set of the suite with a base."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from matcheval.errors import unknown_name_error
from matcheval.execution.resources import ResourceRequest
from matcheval.settings import Name, Named, Names, Settings
from matcheval.study.analysis import Analysis, Wildcards

if TYPE_CHECKING:
    from matcheval.study.study import Study


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
