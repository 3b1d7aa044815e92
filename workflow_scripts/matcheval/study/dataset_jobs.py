"""Inputs, parameters and arguments of the jobs that prepare datasets, and check suites."""

from typing import Any

from matcheval.datasets.derived import DERIVATION_VERSION
from matcheval.datasets.kinds import builder_version
from matcheval.study.analysis import Wildcards
from matcheval.study.study import Study


class DatasetJobs:
    """Jobs of datasets and suites. A part of `StageJobs`."""

    _study: Study

    def prepare_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the files that a dataset is built from: published, and of other datasets."""
        return self._study.files_before(wildcards.dataset)

    def dataset_files(self, wildcards: Wildcards) -> list[str]:
        """Return the files that a dataset is read from."""
        return self._study.dataset_files(wildcards.dataset)

    def prepare_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that prepares a dataset."""
        spec = self._study.datasets[wildcards.dataset]
        return [
            "--name", spec.name, "--kind", spec.kind, "--options", spec.options_json,
            "--downloads", f"{self._study.results}/downloads",
            "--output", self._study.dataset_folder(spec.name),
        ]  # fmt: skip

    def prepare_threads(self, wildcards: Wildcards) -> int:
        """Return the threads of a job that prepares a dataset."""
        return self._study.datasets[wildcards.dataset].preparing_threads

    def dataset_version(self, wildcards: Wildcards) -> list[Any]:
        """Return what else a prepared dataset depends on: the builder's version, the user's files.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset`.
        """
        spec = self._study.datasets[wildcards.dataset]
        return [builder_version(spec.kind), self._study.dataset_state(spec.name)]

    def derivation_sources(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the datasets that a dataset is derived from."""
        names = self._study.derivations[wildcards.dataset].of
        return [file for name in names for file in self._study.dataset_files(name)]

    def derive_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that derives a dataset."""
        derivation = self._study.derivations[wildcards.dataset]
        return [
            "--derivation", derivation.json,
            "--sources", *(self._study.dataset_folder(name) for name in derivation.of),
            "--output", self._study.dataset_folder(wildcards.dataset),
        ]  # fmt: skip

    derivation_version = DERIVATION_VERSION

    def descriptions_of_pair(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the descriptions of both sets of a pair, by origin."""
        datasets = self._study.pairs[wildcards.pair].datasets.items()
        return {origin: self._study.dataset_files(name)[0] for origin, name in datasets}

    def suite_datasets(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the datasets of a suite."""
        sets = self._study.predicting.collections[wildcards.suite]
        return [file for name in sets for file in self._study.dataset_files(name)]

    def suite_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the job that checks the datasets of a suite."""
        sets = self._study.predicting.collections[wildcards.suite]
        suite = self._study.suites[wildcards.suite]
        # Other than the classes, what is known of a set changes nothing that is checked.
        members = [{"dataset": one.dataset, "classes": one.counting} for one in suite.members]
        return {
            "suite": {"name": suite.name, "members": members},
            "folders": {name: self._study.dataset_folder(name) for name in sets},
        }
