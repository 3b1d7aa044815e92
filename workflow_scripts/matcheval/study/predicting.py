"""Which models are run on which datasets by which jobs."""

import hashlib
import json
from collections.abc import Iterable
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.inference import INFERENCE_VERSION
from matcheval.io.files import file_states
from matcheval.models.rows import CHECKPOINT
from matcheval.training import TRAINING_VERSION

if TYPE_CHECKING:
    from matcheval.study.study import Study


class Predicting:
    """The inference jobs of a study."""

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
        found: dict[str, tuple[str, ...]] = {name: (name,) for name in study.single}
        found |= {name: tuple(suite.datasets) for name, suite in study.suites.items()}
        images = {
            name: tuple(d for d in sets if study.datasets[d].has_images)
            for name, sets in found.items()
        }
        return {name: sets for name, sets in images.items() if sets}

    def index(self, collection: str, batch: str) -> str:
        """Return the index of the predictions of a batch of models on a collection of datasets."""
        return f"{self._study.folder}/inference/{collection}/{batch}.json"

    def single_index(self, dataset: str, model: str) -> str:
        """Return the index of one model's predictions on one dataset, in a job of its own."""
        return f"{self._study.folder}/inference_single/{dataset}/{model}.json"

    def tested_index(self, batch: str) -> str:
        """Return the index of the predictions of models that an analysis tests together."""
        return f"{self._study.folder}/inference_tested/{batch}.json"

    def suite_file(self, suite: str) -> str:
        """Return the file with the names and digests of the datasets of a suite."""
        return f"{self._study.folder}/suites/{suite}.json"

    @cached_property
    def batch_of(self) -> dict[str, str]:
        """The job of every model."""
        return {model: batch for batch, models in self.batches.items() for model in models}

    @cached_property
    def collection_of(self) -> dict[str, str]:
        """The collection of every dataset; one in a pair is a collection itself."""
        found: dict[str, str] = {}
        for collection, sets in self.collections.items():
            for name in sets:
                found.setdefault(name, collection)
        return found

    def indexes(self, dataset: str, models: Iterable[str]) -> list[str]:
        """Return the indexes of models' predictions on a dataset, each once."""
        collection = self.collection_of.get(dataset)
        files = (
            self.index(collection, self.batch_of[model])
            if collection is not None and model in self.batch_of
            else self.single_index(dataset, model)
            for model in models
        )
        return list(dict.fromkeys(files))

    def indexes_of_suite(self, suite: str, models: Iterable[str]) -> list[str]:
        """Return the indexes of models' predictions on a suite; none if no model is run on it."""
        if suite not in self.collections:
            return []
        batches = dict.fromkeys(self.batch_of[m] for m in models if m in self.batch_of)
        return [self.index(suite, batch) for batch in batches]

    @property
    def all_indexes(self) -> list[str]:
        """The index of every batch of models on every collection."""
        return [self.index(name, batch) for batch in self.batches for name in self.collections]

    # --- what the configuration asks for

    @cached_property
    def _keys_of_collections(self) -> dict[str, str]:
        study = self._study
        return {
            collection: _digest(
                [[d, study.dataset_identity(d), study.dataset_state(d)] for d in sets]
            )
            for collection, sets in self.collections.items()
        }

    @cache  # noqa: B019 - lives as long as the study
    def key(self, collection: str, batch: str) -> str:
        """Return a digest of all in the configuration that a batch's predictions depend on."""
        models = [self._identity(model) for model in self.batches[batch]]
        return _digest([self._keys_of_collections[collection], self._deciding, models])

    def single_key(self, dataset: str, model: str) -> str:
        """Return the same for one model and one dataset."""
        study = self._study
        identity = [study.dataset_identity(dataset), study.dataset_state(dataset)]
        return _digest([identity, self._deciding, self._identity(model)])

    def tested_key(self, batch: str) -> str:
        """Return the same for models that an analysis tests together."""
        study, tested = self._study, self._study.tested[batch]
        sets = [[d, study.dataset_identity(d), study.dataset_state(d)] for d in tested.datasets]
        return _digest([sets, self._deciding, [self._identity(model) for model in tested.models]])

    @cached_property
    def _deciding(self) -> list[Any]:
        settings = self._study.inference
        return [INFERENCE_VERSION, settings.deciding]

    @cache  # noqa: B019 - lives as long as the study
    def _identity(self, model: str) -> list[Any]:
        study, source = self._study, self._study.runnable[model].source
        assert source is not None, model
        identity: list[Any] = [source.to_json(), source.code_digest]
        if source.kind == CHECKPOINT and Path(source.source).is_file():  # else no job can run
            identity += file_states([source.source])
        trained = study.trained.get(model)
        if trained is not None:
            sets = [*trained.train, *trained.validation]
            identity += [TRAINING_VERSION, trained.model.recipe_json]
            identity += [[study.dataset_identity(d), study.dataset_state(d)] for d in sets]
        return identity


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
