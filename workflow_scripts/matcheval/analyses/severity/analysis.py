"""The analysis of gaps along severities: settings, checks and files."""

from dataclasses import replace
from typing import Any, ClassVar

from pydantic import Field

from matcheval.errors import configuration_error
from matcheval.execution import resources
from matcheval.protocol.analysis import Matching
from matcheval.settings import Boolean, Name, Named
from matcheval.study.analysis import Wildcards
from matcheval.study.checks import check_label_spaces
from matcheval.study.sizes import dataset_size
from matcheval.study.suite_tables import SuiteTableAnalysis, SuiteTableSettings


class SeveritySettings(SuiteTableSettings):
    """Suites of shifts of known severity, each with the set that is severity 0."""

    suites: Named[Name] = Field({}, description="The base, which is not shifted, by suite")
    paired: Boolean = Field(
        True, description="All sets show the base's images; sizes and labels are checked"
    )


class Severity(SuiteTableAnalysis):
    """Run the protocol from the base to every set of a suite."""

    name: ClassVar[str] = "severity"
    Settings: ClassVar[type[SeveritySettings]] = SeveritySettings
    settings: SeveritySettings

    def check_suite(self, name: str, base: str) -> None:
        """Check that all sets can be matched with the base, and that a severity is known."""
        members, field = self.study.suites[name].members, self.field("suites", name)
        for dataset in (base, *(member.dataset for member in members)):
            self.check_has_accuracies(dataset, field)
            if not self.study.datasets[dataset].has_probabilities:
                raise configuration_error(f"'{dataset}' has no probabilities", field=field)
            check_label_spaces(self.study, field, base, dataset)
        for member in members:
            if member.counting or member.all_labels:
                raise configuration_error(
                    f"'{member.dataset}' counts some classes, groups or several labels",
                    field=field,
                    remedy="Compare sets with the classes and labels of the base",
                )
        if all(member.severity is None for member in members):
            raise configuration_error(
                "no set has a severity",
                field=field,
                remedy=f"Add severity to the members under suites.{name}",
            )

    @property
    def matching(self) -> Matching:
        """The analysis that names matchings and seeds."""
        return self.study.analysis(Matching)

    @property
    def options(self) -> dict[str, Any]:
        """Matchings and seeds, and whether sets show the base's images."""
        methods = self.matching.settings.methods
        return {
            "matchings": {name: one.model_dump(mode="json") for name, one in methods.items()},
            "seeds": list(range(self.matching.settings.seeds)),
            "paired": self.settings.paired,
        }

    def request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        """By the numbers of models and sets, and the size of the largest set."""
        names = self.datasets_of(wildcards.suite)
        images = max(dataset_size(self.study, name).images for name in names)
        n_models, n_matchings = len(self.models), len(self.matching.matchings)
        one = resources.of_gaps(n_models, n_matchings, images)  # one set is in memory at a time
        every = resources.of_gaps(n_models * len(names), n_matchings, images)
        return replace(one, runtime=every.runtime)
