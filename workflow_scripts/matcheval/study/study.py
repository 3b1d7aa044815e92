"""A study: its contents and files, and which models are run on which datasets by which jobs."""

from collections.abc import Iterable
from functools import cached_property

from matcheval.study.batches import Trainings
from matcheval.study.contents import StudyContents
from matcheval.study.inference import Predicted, Predicting


class Study(StudyContents):
    """A study with its inference jobs."""

    @cached_property
    def trainings(self) -> Trainings:
        """Its trainings that are run together."""
        return Trainings(self)

    @property
    def indexes_of_batches(self) -> list[str]:
        """Lists of the members of all batches, which may be missing."""
        return [
            *map(self.made_index, self.made_batches),
            *map(self.trainings.index, self.trainings.batches),
            *(index for one in self.analyses.values() for index in one.indexes),
        ]

    @cached_property
    def predicting(self) -> Predicting:
        """Its inference jobs."""
        return Predicting(self)

    @cached_property
    def predicted(self) -> Predicted:
        """What these jobs have written already."""
        return Predicted(self, self.predicting)

    @property
    def predictions_targets(self) -> list[str]:
        """Indexes of all that inference writes, and the user's prediction files."""
        custom = [name for name in self.evaluated if not self.datasets[name].has_images]
        files = [file for name in custom for file in self.results_files(name)]
        return [*self.predicting.all_indexes, *files]

    def results_inputs(self, dataset: str, models: Iterable[str] | None = None) -> list[str]:
        """Return the files that rules wait for before they read models' results on a dataset."""
        chosen = list(self.models if models is None else models)
        spec = self.datasets.get(dataset)
        if spec is None or spec.has_images:
            return self.predicting.indexes(dataset, chosen)
        return spec.results_files(chosen)

    def suite_inputs(
        self, suite: str, models: Iterable[str], others: Iterable[str] = ()
    ) -> list[str]:
        """Return the files that rules wait for before they read models' results on a suite."""
        jobs, chosen = self.predicting, list(models)
        indexed = jobs.collections.get(suite, ())
        rest = [n for n in (*others, *self.suites[suite].datasets) if n not in indexed]
        files = [file for name in rest for file in self.results_inputs(name, chosen)]
        return list(dict.fromkeys([*jobs.indexes_of_suite(suite, chosen), *files]))
