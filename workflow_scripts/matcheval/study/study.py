"""A study: its contents and files, and which models are run on which datasets by which jobs."""

from collections.abc import Iterable, Sequence
from functools import cached_property

from matcheval.study.batches import Trainings
from matcheval.study.contents import StudyContents
from matcheval.study.inference import Predicting


class Study(StudyContents):
    """A study with its training and inference jobs."""

    @cached_property
    def trainings(self) -> Trainings:
        """Its trainings that are run together."""
        return Trainings(self)

    @cached_property
    def predicting(self) -> Predicting:
        """Its inference jobs."""
        return Predicting(self)

    @property
    def predictions_targets(self) -> list[str]:
        """All that inference writes, and the user's prediction files."""
        custom = [name for name in self.evaluated if not self.datasets[name].has_images]
        files = [file for name in custom for file in self.results_files(name)]
        return [*self.predicting.all_files, *files]

    def results_inputs(
        self,
        dataset: str,
        models: Iterable[str] | None = None,
        suffixes: Sequence[str] = (".parquet",),
    ) -> list[str]:
        """Return what rules read of models' results on a dataset: files, or folders of suites."""
        chosen = list(self.models if models is None else models)
        spec = self.datasets.get(dataset)
        if spec is None or spec.has_images:
            return self.predicting.files(dataset, chosen, suffixes)
        return spec.results_files(chosen)

    def suite_inputs(
        self, suite: str, models: Iterable[str], others: Iterable[str] = ()
    ) -> list[str]:
        """Return what rules read of all outputs of models on a suite, and on other datasets."""
        chosen, suffixes = list(models), self.predicting.suffixes
        found, folders = list[str](), set[str]()
        for name in (*others, *self.suites[suite].datasets):
            home = self.suite_of.get(name, "")
            if home not in folders:  # one folder has all sets
                found += self.results_inputs(name, chosen, suffixes)
            folders |= {home} if home else set()
        return list(dict.fromkeys(found))
