"""The analysis of accuracies on suites: settings, checks and files."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from pydantic import Field

from matcheval.datasets.suites import Member, check_subset
from matcheval.errors import InputError, unknown_name_error
from matcheval.execution import resources
from matcheval.settings import Name, Named, Names, Settings
from matcheval.study.analysis import Analysis, Wildcards
from matcheval.study.checks import check_label_spaces
from matcheval.study.sizes import dataset_size
from matcheval.study.study import Study


class SuiteAccuraciesSettings(Settings):
    """Suites that a table is made for, each with the set that its sets are compared with."""

    suites: Named[Name] = Field(
        {}, description="The base, a dataset that models are evaluated on, by suite"
    )
    without: Names = Field((), description="Models that are not counted")


class SuiteAccuracies(Analysis):
    """Tabulate the accuracies of all models on the sets of a suite, and their gap to the base."""

    name: ClassVar[str] = "suite_accuracies"
    Settings: ClassVar[type[SuiteAccuraciesSettings]] = SuiteAccuraciesSettings
    settings: SuiteAccuraciesSettings

    def __init__(self, settings: SuiteAccuraciesSettings, study: Study) -> None:
        super().__init__(settings, study)
        labels = {"table": self.name, "of": "{suite}"}
        self.result = self.table("{suite}", self.name, labels)
        self.plot = self.figure(
            f"{self.name}/{{suite}}", self.name, {**labels, "of": "{suite} (figure)"}
        )

    def check(self) -> None:
        """Check the names of suites, bases and models, and the classes that members name.

        Raises
        ------
        InputError
            If a name is unknown, only accuracies are known where single predictions are needed, or
            a class is not in the label space.
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
            self.check_has_correctness(base, self.field("suites", name))
            for member in self.study.suites[name].members:
                self.check_has_correctness(member.dataset, f"suites.{name}")
                check_label_spaces(self.study, self.field("suites", name), base, member.dataset)
                spec = self.study.labelled_like(member.dataset)
                known = spec.settings.known_classes
                self._check_member(name, base, member)
                if member.counting and known is not None:
                    check_subset(name, member, known)
                elif member.counting and not spec.has_images:
                    raise InputError(
                        f"the classes of '{member.dataset}' are not known by name",
                        file="configuration",
                        field=f"suites.{name}",
                        remedy="Leave 'classes' out",
                    )

    def _check_member(self, suite: str, base: str, member: Member) -> None:
        """Check that groups and several labels can be used: they need every predicted class."""
        field = f"suites.{suite}: all_labels of '{member.dataset}'"
        if member.all_labels:
            self.study.check_dataset(member.dataset, field, images=True)
        for name in (base, member.dataset) if member.groups else ():
            if not self.study.datasets[name].has_probabilities:
                raise InputError(
                    f"'{name}' has no prediction files, which groups of classes need",
                    file="configuration", field=f"suites.{suite}",
                    remedy="Leave 'groups' out, or the suite out of suite_accuracies",
                )  # fmt: skip

    @property
    def targets(self) -> list[str]:
        """A table and a figure for every suite."""
        suites = list(self.settings.suites)
        return [*self.result.expand(suite=suites), *self.plot.expand(suite=suites)]

    def _datasets(self, suite: str) -> list[str]:
        """Names of the base and of the sets of a suite, each once."""
        return list(
            dict.fromkeys([self.settings.suites[suite], *self.study.suites[suite].datasets])
        )

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
        datasets = self._datasets(wildcards.suite)
        return {
            "suite": asdict(self.study.suites[wildcards.suite]),
            "base": self.settings.suites[wildcards.suite],
            "specs": {name: vars(self.study.datasets[name]) for name in datasets},
            "folders": {
                name: self.study.dataset_folder(name)
                for name in datasets
                if self.study.datasets[name].has_images
            },
            "predictions": self.study.predictions_folder,
            "models": self.models,
            "confidence": self.study.confidence,
        }

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
    def resource_requests(self) -> Mapping[str, Callable[[Any], resources.ResourceRequest]]:
        """By the number of models and the sizes of the sets."""
        return {"tabulate_suite_accuracies": self._request}

    def _request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        datasets = self._datasets(wildcards.suite)
        images = max(dataset_size(self.study, name).images for name in datasets)
        return resources.of_reading(len(self.models), len(datasets), images)
