"""The analysis of accuracies on suites: checks and parameters."""

from typing import Any, ClassVar

from matcheval.analyses.suite_accuracies.figures import plot  # noqa: F401
from matcheval.analyses.suite_accuracies.tables import SCHEMA, tabulate, text_columns  # noqa: F401
from matcheval.datasets.suites import Member, check_subset
from matcheval.errors import configuration_error
from matcheval.execution import resources
from matcheval.study.checks import check_label_spaces
from matcheval.study.requests import dataset_size
from matcheval.study.rules import Wildcards
from matcheval.study.tables import SuiteTableAnalysis


class SuiteAccuracies(SuiteTableAnalysis):
    """Tabulate the accuracies of all models on the sets of a suite, and their gap to the base."""

    name: ClassVar[str] = "suite_accuracies"
    caption: ClassVar[str] = (
        "Accuracies of all models on the sets of suite **{{ snakemake.wildcards.suite }}**, and "
        "on the base that they are compared with."
    )

    def check_suite(self, name: str, base: str) -> None:
        """Check that correctness is known of all sets, and the classes that members name."""
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
                raise configuration_error(
                    f"the classes of '{member.dataset}' are not known by name",
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
                raise configuration_error(
                    f"'{name}' has no prediction files, which groups of classes need",
                    field=f"suites.{suite}",
                    remedy="Leave 'groups' out, or the suite out of suite_accuracies",
                )

    @property
    def options(self) -> dict[str, Any]:
        """The level of intervals."""
        return {"confidence": self.study.confidence}

    def request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        """By the number of models and the sizes of the sets."""
        datasets = self.datasets_of(wildcards.suite)
        images = max(dataset_size(self.study, name).images for name in datasets)
        return resources.of_reading(len(self.models), len(datasets), images)
