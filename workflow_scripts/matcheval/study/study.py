"""A study: what it holds, and where the files of its stages lie."""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from matcheval.io.files import file_states
from matcheval.models.rows import FROM_CODE, PUBLISHED
from matcheval.study.contents import StudyContents
from matcheval.study.predicted import Predicted
from matcheval.study.predicting import Predicting

STUDIES_FOLDER = "studies"  # what the names of each study stand for: `shared_names`
# Folders of the results that studies share; no study can have their names.
SHARED_FOLDERS = (
    "benchmarks",
    "checkpoints",
    "datasets",
    "downloads",
    "logs",
    "pools",
    "predictions",
    "sampling",
    STUDIES_FOLDER,
    "warehouses",
    "weights",
)


class Study(StudyContents):
    """A study with its files."""

    def dataset_folder(self, dataset: str) -> str:
        """Return the folder of a prepared dataset."""
        return f"{self.results}/datasets/{dataset}"

    def dataset_files(self, dataset: str) -> list[str]:
        """Return the files that a dataset is read from, the description first."""
        description, datapoints = self.description_files(dataset)
        if dataset in self.made:
            return [description, datapoints, *self.files_before(dataset)]
        return [description, f"{self.dataset_folder(dataset)}/images.npy", datapoints]

    def description_files(self, dataset: str) -> list[str]:
        """Return the files of a dataset without its images: description, and a table of labels."""
        names = ("dataset.json", "datapoints.parquet")
        return [f"{self.dataset_folder(dataset)}/{name}" for name in names]

    def files_before(self, dataset: str) -> list[str]:
        """Return the files that a dataset is prepared from: downloads, and other datasets' files.

        Parameters
        ----------
        dataset : str
            Name of a dataset that no analysis builds.
        """
        settings = self.datasets[dataset].settings
        return [
            *(f"{self.results}/downloads/{file}" for file in settings.published_files),
            *(file for name in settings.sources for file in self.dataset_files(name)),
        ]

    @property
    def report_page(self) -> str:
        """The page with all its results."""
        return f"{self.folder}/report.html"

    # --- models and predictions

    def weights_file(self, model: str) -> str | None:
        """Return where a model's weights lie; None if code or a package has them, or if not run."""
        source = self.runnable[model].source
        if source is None or source.kind in FROM_CODE:
            return None
        if source.kind in PUBLISHED:
            return f"{self.results}/weights/{self.inference_plan.published[model].file_name}"
        return source.source or f"{self.results}/checkpoints/{model}.safetensors"

    def history_file(self, model: str) -> str:
        """Return the history of a training."""
        return f"{self.results}/checkpoints/{model}.history.csv"

    def predictions_file(self, dataset: str, model: str) -> str:
        """Return where a model's predictions on a dataset lie: the user's file, or ours."""
        spec = self.datasets.get(dataset)
        if spec is None or spec.has_images:
            return f"{self.results}/predictions/{dataset}/{model}.parquet"
        return spec.results_file(model)

    @property
    def predictions_folder(self) -> str:
        """Folder of all prediction files that inference writes."""
        return f"{self.results}/predictions"

    @cached_property
    def predicting(self) -> Predicting:
        """Its inference jobs."""
        return Predicting(self)

    @cached_property
    def predicted(self) -> Predicted:
        """What these jobs have written already."""
        return Predicted(self)

    @property
    def predictions_targets(self) -> list[str]:
        """Indexes of all that inference writes, and the user's prediction files."""
        custom = [
            file
            for name in self.evaluated
            if not self.datasets[name].has_images
            for file in self.results_files(name)
        ]
        return [*self.predicting.all_indexes, *custom]

    def dataset_state(self, dataset: str) -> str:
        """Return a digest of the names, sizes and times of the user's files of a dataset's images.

        Parameters
        ----------
        dataset : str
            Name of a dataset, perhaps a derived one, which has no files of the user's.
        """
        if dataset not in self._states:
            spec = self.datasets.get(dataset)
            own = [spec.custom_files_state] if spec else [""]
            others = spec.settings.sources if spec else []
            self._states[dataset] = "-".join([*own, *map(self.dataset_state, others)])
        return self._states[dataset]

    @cached_property
    def _states(self) -> dict[str, str]:
        """States of the user's files, which are looked at once: that may take seconds."""
        return {}

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

    def results_files(self, dataset: str, models: Iterable[str] | None = None) -> list[str]:
        """Return all files that models' accuracies on a dataset are counted from, each once."""
        spec, chosen = self.datasets[dataset], list(self.models if models is None else models)
        if spec.has_images:
            return [self.predictions_file(dataset, model) for model in chosen]
        return spec.results_files(chosen)

    def probability_files(self, dataset: str, models: Iterable[str]) -> list[str]:
        """Return the prediction files of models on a dataset, none if it has no probabilities."""
        has_predictions = self.datasets[dataset].has_probabilities
        return self.results_files(dataset, models) if has_predictions else []

    def custom_results_state(
        self, dataset: str, models: Iterable[str] | None = None
    ) -> list[tuple[int, int]]:
        """Return size and time of the user's files that accuracies are counted from."""
        if self.datasets[dataset].has_images:
            return []
        return file_states(self.results_files(dataset, models))

    def custom_suite_state(
        self, suite: str, models: Iterable[str], others: Iterable[str] = ()
    ) -> list[tuple[int, int]]:
        """Return size and time of the user's files with models' results, or labels, on a suite."""
        chosen, names = list(models), dict.fromkeys([*others, *self.suites[suite].datasets])
        results = [state for name in names for state in self.custom_results_state(name, chosen)]
        labels = [one.all_labels for one in self.suites[suite].members if one.all_labels]
        return [*results, *file_states([file for file in labels if Path(file).is_file()])]

    def accuracies_file(self, dataset: str) -> str:
        """Return the table of all models' accuracies on a dataset."""
        return f"{self.folder}/accuracies/{dataset}.parquet"

    # --- downloads

    @property
    def downloads(self) -> list[str]:
        """All that is downloaded for this study: files of datasets, and weights."""
        used = (self.datasets[name].settings.published_files for name in self.used)
        published = sorted({file for files in used for file in files})
        weights = self.inference_plan.weights_urls
        return [
            *(f"{self.results}/downloads/{file}" for file in published),
            *(f"{self.results}/weights/{file}" for file in weights),
        ]
