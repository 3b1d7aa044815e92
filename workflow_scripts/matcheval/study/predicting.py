"""Which models are run on which datasets by which jobs, and what of it is there already."""

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.inference import INFERENCE_VERSION
from matcheval.inference.files import output_files
from matcheval.inference.store import read_index
from matcheval.models.rows import CHECKPOINT
from matcheval.study.analysis import file_states
from matcheval.training import TRAINING_VERSION

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from matcheval.study.study import Study


class Predicting:
    """The inference jobs of a study.

    A job runs a batch of models (often one) on all datasets that the study evaluates, and writes an
    index for each *collection* of datasets: each dataset of a pair by itself, and each suite as a
    whole. Jobs that read predictions have indexes as inputs, not the prediction files: these are
    shared by studies, and are too many for Snakemake in large suites. A dataset that is added to a
    study changes no other index.

    Models that an analysis trains are run on single datasets, by jobs of their own.

    Parameters
    ----------
    study : Study
    """

    def __init__(self, study: "Study") -> None:
        self._study = study

    # --- jobs and their files

    @cached_property
    def batches(self) -> dict[str, tuple[str, ...]]:
        """Names of the models that are run together, by the name of the job."""
        names = [name for name, model in self._study.models.items() if model.source is not None]
        return self._study.inference_plan.batches(names)

    @cached_property
    def collections(self) -> dict[str, tuple[str, ...]]:
        """Names of the datasets with images, by collection: a dataset's own name, or a suite's."""
        study = self._study
        found: dict[str, tuple[str, ...]] = {name: (name,) for name in study.paired}
        found |= {name: tuple(suite.datasets) for name, suite in study.suites.items()}
        images = {
            name: tuple(d for d in sets if study.datasets[d].has_images)
            for name, sets in found.items()
        }
        return {name: sets for name, sets in images.items() if sets}

    def index(self, collection: str, batch: str) -> str:
        """Return the index of the predictions of a batch of models on a collection of datasets.

        Parameters
        ----------
        collection, batch : str
            Names, or wildcards in braces.
        """
        return f"{self._study.folder}/inference/{collection}/{batch}.json"

    def single_index(self, dataset: str, model: str) -> str:
        """Return the index of one model's predictions on one dataset, in a job of its own.

        Parameters
        ----------
        dataset, model : str
            Names, or wildcards in braces.
        """
        return f"{self._study.folder}/inference_single/{dataset}/{model}.json"

    def suite_file(self, suite: str) -> str:
        """Return the file with the names and digests of the datasets of a suite.

        Parameters
        ----------
        suite : str
            Its name, or a wildcard in braces.
        """
        return f"{self._study.folder}/suites/{suite}.json"

    @cached_property
    def _batch_of(self) -> dict[str, str]:
        return {model: batch for batch, models in self.batches.items() for model in models}

    @cached_property
    def _collection_of(self) -> dict[str, str]:
        """The collection of every dataset; one in a pair is a collection itself."""
        found: dict[str, str] = {}
        for collection, sets in self.collections.items():
            for name in sets:
                found.setdefault(name, collection)
        return found

    def indexes(self, dataset: str, models: Iterable[str]) -> list[str]:
        """Return the indexes of models' predictions on a dataset, each once.

        Parameters
        ----------
        dataset : str
            Name of a dataset with images.
        models : iterable of str
            Names of models.
        """
        collection = self._collection_of.get(dataset)
        files = (
            self.index(collection, self._batch_of[model])
            if collection is not None and model in self._batch_of
            else self.single_index(dataset, model)
            for model in models
        )
        return list(dict.fromkeys(files))

    @property
    def all_indexes(self) -> list[str]:
        """The indexes of all models on all collections."""
        return [self.index(name, batch) for batch in self.batches for name in self.collections]

    # --- what the configuration asks for, and what is there

    @cached_property
    def _keys_of_collections(self) -> dict[str, str]:
        study = self._study
        return {
            collection: _digest(
                [[d, study.dataset_identity(d), study.dataset_state(d)] for d in sets]
            )
            for collection, sets in self.collections.items()
        }

    def key(self, collection: str, batch: str) -> str:
        """Return a digest of all in the configuration that a batch's predictions depend on.

        Parameters
        ----------
        collection, batch : str
            Names.
        """
        models = [self._identity(model) for model in self.batches[batch]]
        return _digest([self._keys_of_collections[collection], self._deciding, models])

    def single_key(self, dataset: str, model: str) -> str:
        """Return the same for one model and one dataset.

        Parameters
        ----------
        dataset, model : str
            Names.
        """
        study = self._study
        identity = [study.dataset_identity(dataset), study.dataset_state(dataset)]
        return _digest([identity, self._deciding, self._identity(model)])

    @cached_property
    def _deciding(self) -> list[Any]:
        settings = self._study.inference
        return [INFERENCE_VERSION, settings.deciding]

    @cache  # noqa: B019 - lives as long as the study
    def _identity(self, model: str) -> list[Any]:
        study, source = self._study, self._study.runnable[model].source
        assert source is not None, model
        identity: list[Any] = [source.to_json(), source.code_digest]
        if source.kind == CHECKPOINT:
            identity += file_states([source.source])
        trained = study.trained.get(model)
        if trained is not None:
            sets = [*trained.train, trained.validation]
            identity += [TRAINING_VERSION, trained.model.recipe_json]
            identity += [[study.dataset_identity(d), study.dataset_state(d)] for d in sets]
        return identity

    @cached_property
    def _times(self) -> dict[str, dict[str, int]]:
        """Modification times of the files that inference wrote, by dataset and name of the file."""
        times = {}
        for dataset in self._collection_of:
            folder = Path(self._study.predictions_folder, dataset)
            files = list(folder.iterdir()) if folder.is_dir() else []
            times[dataset] = {file.name: file.stat().st_mtime_ns for file in files}
        return times

    def missing(self, batch: str) -> list[tuple[str, str]]:
        """Return the datasets and models of a batch whose results are not complete.

        For estimates before a job: whether files are outdated, only the job can tell.

        Parameters
        ----------
        batch : str
            Name of the batch.
        """
        return [
            (dataset, model)
            for dataset in self._collection_of
            for model in self.batches[batch]
            if not all(name in self._times[dataset] for name in self._names(model))
        ]

    @cache  # noqa: B019 - lives as long as the study
    def _names(self, model: str) -> list[str]:
        """Names of the files of a model's results."""
        files = output_files("", "", model, self._study.inference.outputs)
        return [file.name for file in files.values()]

    def _is_untouched(self, collection: str, batch: str) -> bool:
        """Whether all files that an index lists are there, none newer than the index."""
        try:
            written = Path(self.index(collection, batch)).stat().st_mtime_ns
        except OSError:
            return False
        return all(
            self._times[dataset].get(name, written + 1) <= written
            for dataset in self.collections[collection]
            for model in self.batches[batch]
            for name in self._names(model)
        )

    def _has_top(self, n_top: int | None) -> bool:
        """Whether an index is of as many top classes as are asked for, if any are."""
        settings = self._study.inference
        return "top" not in settings.outputs or n_top == settings.top

    def remove_untrue_indexes(self) -> None:
        """Remove indexes of files that are not there any more, or were replaced since.

        Their jobs have to run again, which Snakemake cannot know, as it does not see these files.
        (Indexes that were written for another configuration are replaced anyway.)
        """
        for path, collection, batch in self._existing_indexes():
            key, n_top = read_index(path)
            if key == self.key(collection, batch) and not (
                self._has_top(n_top) and self._is_untouched(collection, batch)
            ):
                log.info("%s names predictions that are missing or were replaced: removed", path)
                path.unlink()

    def _existing_indexes(self) -> Iterator[tuple[Path, str, str]]:
        """Yield the indexes of this study that exist, each with its collection and batch."""
        for collection in self.collections:
            folder = Path(self.index(collection, "")).parent
            names = {file.name for file in folder.iterdir()} if folder.is_dir() else set()
            for batch in self.batches:
                path = Path(self.index(collection, batch))
                if path.name in names:
                    yield path, collection, batch

    @cached_property
    def settled_indexes(self) -> set[str]:
        """Indexes that stay as they are although their job runs, for another dataset.

        Jobs that read them need not be repeated because of that job.
        """
        ready: dict[str, set[str]] = {}
        for _, collection, batch in self._existing_indexes():
            if self._is_settled(collection, batch):
                ready.setdefault(batch, set()).add(collection)
        return {
            self.index(collection, batch)
            for batch, settled in ready.items()
            if len(settled) < len(self.collections)
            for collection in settled
        }

    def _is_settled(self, collection: str, batch: str) -> bool:
        path = Path(self.index(collection, batch))
        if not self._is_untouched(collection, batch):
            return False
        key, n_top = read_index(path)
        if key != self.key(collection, batch) or not self._has_top(n_top):
            return False
        written = path.stat().st_mtime_ns
        inputs = [
            *(self._study.weights_file(model) for model in self.batches[batch]),
            *(self._study.dataset_files(name)[0] for name in self.collections[collection]),
        ]
        return all(
            Path(file).exists() and Path(file).stat().st_mtime_ns <= written
            for file in inputs
            if file is not None
        )


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
