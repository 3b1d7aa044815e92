"""Which models are run on which datasets by which jobs."""

import json
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.execution.resources import CORE_FLOPS
from matcheval.execution.sizes import ImageSet
from matcheval.inference import INFERENCE_VERSION, OUTPUT_SUFFIXES
from matcheval.inference.settings import deciding
from matcheval.inference.store import file_digest, read_index, recorded_inputs
from matcheval.io.files import disk_errors, file_states
from matcheval.io.json_files import digest_of
from matcheval.study.batches import INFERENCE_SECONDS, in_batches
from matcheval.study.contents import StudyContents
from matcheval.study.sizes import dataset_size, model_size
from matcheval.training import TRAINING_VERSION


class Predicting:
    """The inference jobs of a study."""

    def __init__(self, study: StudyContents) -> None:
        self._study = study

    # --- jobs and their files

    @cached_property
    def batches(self) -> dict[str, tuple[str, ...]]:
        """Names of the models that are run together, by the name of the job."""
        names = [name for name, model in self._study.models.items() if model.source is not None]
        return self._study.inference_plan.batches(names)

    @cached_property
    def together(self) -> dict[str, tuple[str, ...]]:
        """Batches of small models that one job runs on a processor, by the name of the job."""
        plan, settings = self._study.inference_plan, self._study.inference
        if settings.models_per_job != "auto" or settings.device != "cpu":
            return {}
        by_geometry: dict[str, list[str]] = {}
        for name in self.batches:  # of one model each
            by_geometry.setdefault(plan.geometry(name).name, []).append(name)
        found: list[tuple[str, ...]] = []
        for names in by_geometry.values():
            found += in_batches(names, self._seconds, INFERENCE_SECONDS)
        several = [each for each in found if len(each) > 1]
        return {f"models_{i}": each for i, each in enumerate(several, 1)}

    @cached_property
    def job_of(self) -> dict[str, str]:
        """The job of every batch."""
        shared = {batch: job for job, batches in self.together.items() for batch in batches}
        return {batch: shared.get(batch, batch) for batch in self.batches}

    @property
    def alone(self) -> list[str]:
        """Batches with a job of their own."""
        return [batch for batch, job in self.job_of.items() if batch == job]

    def models_of(self, job: str) -> list[str]:
        """Return the models that a job runs."""
        return [model for one in self.together.get(job, (job,)) for model in self.batches[one]]

    def _seconds(self, model: str) -> float:
        """Return how long a slow core needs for a model on all datasets."""
        of_image = ((model_size(self._study, model, one), n) for one, n in self._images.items())
        return 2 * sum(n * size.multiply_adds for size, n in of_image) / CORE_FLOPS

    @cached_property
    def _images(self) -> Counter[ImageSet]:
        """Number of the images of all datasets, by what else their sizes are."""
        found = Counter[ImageSet]()
        for name in self.collection_of:
            size = dataset_size(self._study, name, planned=True)
            found[replace(size, images=1)] += size.images
        return found

    @cached_property
    def collections(self) -> dict[str, tuple[str, ...]]:
        """Names of the datasets with images, by collection: a dataset's own name, or a suite's."""
        study = self._study
        named = {name: [name] for name in study.single}
        named |= {name: suite.datasets for name, suite in study.suites.items()}
        found = {}
        for name, sets in named.items():
            if images := tuple(one for one in sets if study.datasets[one].has_images):
                found[name] = images
        return found

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
        """Return the index files of models' predictions on a dataset, each once."""
        collection = self.collection_of.get(dataset)
        files: dict[str, None] = {}
        for model in models:
            if collection is not None and model in self.batch_of:
                files[self.index(collection, self.batch_of[model])] = None
            else:
                files[self.single_index(dataset, model)] = None
        return list(files)

    def indexes_of_suite(self, suite: str, models: Iterable[str]) -> list[str]:
        """Return the index files of models' predictions on a suite; none if no model is run."""
        if suite not in self.collections:
            return []
        batches = dict.fromkeys(self.batch_of[m] for m in models if m in self.batch_of)
        return [self.index(suite, batch) for batch in batches]

    @property
    def all_indexes(self) -> list[str]:
        """The index files of all batches of models on all collections."""
        return [self.index(name, batch) for batch in self.batches for name in self.collections]

    # --- what the configuration asks for

    def _state(self, datasets: Iterable[str]) -> list[list[str]]:
        study = self._study
        return [[one, study.dataset_identity(one), study.dataset_state(one)] for one in datasets]

    @cached_property
    def _keys_of_collections(self) -> dict[str, str]:
        return {name: digest_of(self._state(sets)) for name, sets in self.collections.items()}

    @cache  # noqa: B019 - lives as long as the study
    def key(self, collection: str, batch: str) -> str:
        """Return a digest of all in the configuration that a batch's predictions depend on."""
        models = [self._identity(model) for model in self.batches[batch]]
        return digest_of([self._keys_of_collections[collection], self._deciding, models])

    def single_key(self, dataset: str, model: str) -> str:
        """Return the same for one model and one dataset."""
        ((_, *state),) = self._state([dataset])
        return digest_of([state, self._deciding, self._identity(model)])

    def tested_key(self, batch: str) -> str:
        """Return the same for models that an analysis tests together."""
        tested = self._study.tested[batch]
        models = [self._identity(model) for model in tested.models]
        return digest_of([self._state(tested.datasets), self._deciding, models])

    @cached_property
    def _deciding(self) -> list[Any]:
        return [INFERENCE_VERSION, deciding(self._study.inference)]

    @cache  # noqa: B019 - lives as long as the study
    def _identity(self, model: str) -> list[Any]:
        study, source = self._study, self._study.runnable[model].source
        assert source is not None, model
        identity: list[Any] = [source.to_json(), source.code_digest]
        if Path(source.own_weights).is_file():  # else no job can run, or they are not the user's
            identity += file_states([source.own_weights])
        trained = study.trained.get(model)
        if trained is not None:
            sets = [*trained.train, *trained.validation]
            states = [state for _, *state in self._state(sets)]
            identity += [TRAINING_VERSION, trained.model.recipe_json, *states]
        return identity


log = logging.getLogger(__name__)

Times = npt.NDArray[np.int64]  # nanoseconds


class Predicted:
    """The prediction files of a study on the disk, and the indexes that list them."""

    def __init__(self, study: StudyContents, jobs: Predicting) -> None:
        self._study, self._jobs = study, jobs

    def missing(self, job: str) -> list[tuple[str, str]]:
        """Return the datasets and models of a job whose results are not complete."""
        models, datasets = self._jobs.models_of(job), list(self._newest)
        newest = self._newest_of_all[:, [self._position[model] for model in models]]
        return [(datasets[i], models[j]) for i, j in np.argwhere(newest == 0)]

    @cached_property
    def _newest_of_all(self) -> Times:
        n = len(self._position)
        return np.array([*self._newest.values()], np.int64).reshape(-1, n)

    @cached_property
    def _position(self) -> dict[str, int]:
        return {model: position for position, model in enumerate(self._jobs.batch_of)}

    @cached_property
    def _newest(self) -> dict[str, Times]:
        """Times of the newest file of every model's results, by dataset; 0 where one is missing."""
        return {name: self._look(name, self._position) for name in self._jobs.collection_of}

    def _look(self, dataset: str, models: Iterable[str]) -> Times:
        folder, names = Path(self._study.predictions_folder, dataset), list(models)
        if not folder.is_dir():
            return np.zeros(len(names), np.int64)
        times = {}
        for entry in os.scandir(folder):
            try:
                times[entry.name] = entry.stat().st_mtime_ns
            except FileNotFoundError:  # another run's unfinished file, just renamed
                continue
        outputs = ("predictions", *self._study.inference.outputs)
        suffixes = [OUTPUT_SUFFIXES[output] for output in outputs]
        found = [[times.get(model + suffix, 0) for suffix in suffixes] for model in names]
        by_model = np.array(found, np.int64)
        return np.where((by_model > 0).all(axis=1), by_model.max(axis=1), 0)

    def remove_outdated_indexes(self) -> None:
        """Remove indexes that list missing files, or files that were replaced since."""
        for index, is_untouched in self._existing_indexes:
            if not is_untouched:
                log.info("%s lists predictions that are missing or were replaced", index.path)
                with disk_errors(index.path):
                    index.path.unlink(missing_ok=True)

    @cached_property
    def settled_indexes(self) -> set[str]:
        """Paths of indexes that an inference job of the next run will leave unchanged."""
        ready: dict[str, list[str]] = {}
        for index, is_untouched in self._existing_indexes:
            if index.batch and is_untouched and self._is_newest(index):
                ready.setdefault(self._jobs.job_of[index.batch], []).append(str(index.path))
        n, together = len(self._jobs.collections), self._jobs.together
        unfinished = (
            paths for job, paths in ready.items() if len(paths) < n * len(together.get(job, [job]))
        )
        return {path for paths in unfinished for path in paths}

    @cached_property
    def _existing_indexes(self) -> list[tuple["_Index", bool]]:
        """Indexes of what is asked for, and whether their files are still those they list.

        As they were when they were first read: before any were removed here.
        """
        indexes = [one for one in self._read_indexes() if one.found == one.key]
        return [(one, self._is_untouched(one)) for one in indexes]

    def _read_indexes(self) -> Iterator["_Index"]:
        study, jobs = self._study, self._jobs
        for collection, datasets in jobs.collections.items():
            folder = Path(jobs.index(collection, "")).parent
            names = {entry.name for entry in os.scandir(folder)} if folder.is_dir() else set()
            newest = np.stack([self._newest[name] for name in datasets]) if names else None
            for batch, models in jobs.batches.items():
                path = Path(jobs.index(collection, batch))
                if newest is not None and path.name in names:
                    key = jobs.key(collection, batch)
                    times = newest[:, [self._position[model] for model in models]]
                    yield _Index(path, key, datasets, models, times, batch)
        for path in Path(jobs.single_index("*", "")).parent.parent.glob("*/*.json"):
            dataset, model = path.parent.name, path.name.removesuffix(".json")
            runnable = study.runnable.get(model)
            is_dataset = dataset in study.datasets or dataset in study.derivations
            if is_dataset and runnable is not None and runnable.source is not None:
                times = self._look(dataset, [model])[np.newaxis]
                yield _Index(path, jobs.single_key(dataset, model), [dataset], [model], times)
        for batch, tested in study.tested.items():
            path = Path(jobs.tested_index(batch))
            if path.is_file():
                times = np.stack([self._look(name, tested.models) for name in tested.datasets])
                yield _Index(path, jobs.tested_key(batch), tested.datasets, tested.models, times)

    def _is_untouched(self, index: "_Index") -> bool:
        """Whether results are those that their index lists; newer ones may be, as after a copy."""
        settings, outputs = self._study.inference, ("predictions", *self._study.inference.outputs)
        if ("top" in outputs and index.n_top != settings.top) or not (index.times > 0).all():
            return False
        places = np.argwhere(index.times > index.written)
        newer = [(index.datasets[i], index.models[j]) for i, j in places]
        listed = json.loads(index.path.read_bytes())["predictions"] if newer else {}
        copied: list[Path] = []
        for dataset, model in newer:
            file = Path(self._study.predictions_file(dataset, model))
            if file_digest(file) != listed.get(dataset, {}).get(model):
                return False
            others = [file.with_name(model + OUTPUT_SUFFIXES[output]) for output in outputs]
            if {recorded_inputs(other) for other in others} != {recorded_inputs(file)}:
                return False
            copied += others
        for file in copied:
            accessed, changed = file.stat().st_atime_ns, file.stat().st_mtime_ns
            with suppress(PermissionError):  # another user's: read again by the next run
                os.utime(file, ns=(accessed, min(changed, index.written)))
        return True

    def _is_newest(self, index: "_Index") -> bool:
        """Whether an index is newer than the weights and images of its predictions."""
        weights = (self._study.weights_file(model) for model in index.models)
        images = (self._study.dataset_files(name)[0] for name in index.datasets)
        files = [Path(file) for file in (*weights, *images) if file is not None]
        return all(one.exists() and one.stat().st_mtime_ns <= index.written for one in files)


@dataclass
class _Index:
    """An index on the disk, and what it is asked for; of no batch if its job writes no other.

    `times` of the newest file of each result (0 if one is missing) has a row for each dataset, and
    a column for each model.
    """

    path: Path
    key: str
    datasets: Sequence[str]
    models: Sequence[str]
    times: Times
    batch: str = ""

    def __post_init__(self) -> None:
        self.written, (self.found, self.n_top) = self.path.stat().st_mtime_ns, read_index(self.path)
