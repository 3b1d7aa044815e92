"""The analysis of gaps along severities: settings, checks and files."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, ClassVar

from pydantic import Field

from matcheval.errors import InputError, unknown_name_error
from matcheval.execution import resources
from matcheval.protocol.analysis import Matching
from matcheval.settings import Boolean, Name, Named, Names, Settings
from matcheval.study.analysis import Analysis, Wildcards
from matcheval.study.checks import check_label_spaces
from matcheval.study.sizes import dataset_size
from matcheval.study.study import Study


class SeveritySettings(Settings):
    """Suites of shifts of known severity, each with the set that is severity 0."""

    suites: Named[Name] = Field({}, description="The base, which is not shifted, by suite")
    paired: Boolean = Field(
        True, description="All sets show the base's images; sizes and labels are checked"
    )
    without: Names = Field((), description="Models to leave out")


class Severity(Analysis):
    """Run the protocol from the base to every set of a suite."""

    name: ClassVar[str] = "severity"
    Settings: ClassVar[type[SeveritySettings]] = SeveritySettings
    settings: SeveritySettings

    def __init__(self, settings: SeveritySettings, study: Study) -> None:
        super().__init__(settings, study)
        labels = {"table": self.name, "of": "{suite}"}
        self.result = self.table("{suite}", self.name, labels)
        self.plot = self.figure(
            f"{self.name}/{{suite}}", self.name, {**labels, "of": "{suite} (figure)"}
        )

    def check(self) -> None:
        """Check suites, bases and models.

        Raises
        ------
        InputError
            If a name is unknown, a set has no probabilities or other classes, counts some classes
            or several labels, or no severity is known.
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
            self._check_suite(name, base)

    def _check_suite(self, name: str, base: str) -> None:
        members, field = self.study.suites[name].members, self.field("suites", name)
        for dataset in (base, *(member.dataset for member in members)):
            self.check_has_accuracies(dataset, field)
            if not self.study.datasets[dataset].has_probabilities:
                raise InputError(
                    f"'{dataset}' has no probabilities", file="configuration", field=field
                )
            check_label_spaces(self.study, field, base, dataset)
        for member in members:
            if member.counting or member.all_labels:
                raise InputError(
                    f"'{member.dataset}' counts some classes, groups or several labels",
                    file="configuration", field=field,
                    remedy="Compare sets with the classes and labels of the base",
                )  # fmt: skip
        if all(member.severity is None for member in members):
            raise InputError(
                "no set has a severity", file="configuration", field=field,
                remedy=f"Add severity to the members under suites.{name}",
            )  # fmt: skip

    @property
    def matching(self) -> Matching:
        """The analysis that names matchings and seeds."""
        return self.study.analysis(Matching)

    @property
    def targets(self) -> list[str]:
        """A table and a figure for every suite."""
        suites = list(self.settings.suites)
        return [*self.result.expand(suite=suites), *self.plot.expand(suite=suites)]

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
        base, methods = self.settings.suites[wildcards.suite], self.matching.settings.methods
        names = dict.fromkeys([base, *self.study.suites[wildcards.suite].datasets])
        specs = {name: self.study.datasets[name] for name in names}
        return {
            "suite": asdict(self.study.suites[wildcards.suite]),
            "base": base,
            "custom": {name: vars(one) for name, one in specs.items() if not one.has_images},
            "predictions": self.study.predictions_folder,
            "models": self.models,
            "matchings": {name: one.model_dump(mode="json") for name, one in methods.items()},
            "seeds": list(range(self.matching.settings.seeds)),
            "paired": self.settings.paired,
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
        """By the numbers of models and sets, and the size of the largest set."""
        return {"tabulate_severity": self._request}

    def _request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        base, suite = self.settings.suites[wildcards.suite], self.study.suites[wildcards.suite]
        names = [base, *suite.datasets]
        images = max(dataset_size(self.study, name).images for name in names)
        n_models, n_matchings = len(self.models), len(self.matching.matchings)
        one = resources.of_gaps(n_models, n_matchings, images)  # one set is in memory at a time
        every = resources.of_gaps(n_models * len(names), n_matchings, images)
        return replace(one, runtime=every.runtime)
