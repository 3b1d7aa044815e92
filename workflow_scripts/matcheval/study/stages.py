"""Inputs, parameters and arguments of the jobs that prepare datasets, and check suites."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matcheval.datasets.derivations import DERIVATION_VERSION
from matcheval.datasets.kinds import builder_version
from matcheval.inference import INFERENCE_VERSION
from matcheval.models.packages import is_file_of_weights
from matcheval.models.rows import CHECKPOINT, ModelSource
from matcheval.study.rules import Wildcards
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


class InferenceJobs:
    """Jobs of inference, and of the weights that it needs. A part of `StageJobs`."""

    _study: Study

    @property
    def inference_options(self) -> str:
        """How inference uses the machine, as options."""
        return self._study.inference.machine_options

    def weights_url(self, wildcards: Wildcards) -> str:
        """Return where a file of weights is published."""
        return self._study.inference_plan.weights_urls[wildcards.weights]

    def batch_files(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the input files of an inference job: weights, code, datasets and suites."""
        study, jobs = self._study, self._study.predicting
        paired = [name for name in jobs.collections if name not in study.suites]
        return {
            **self._files_of(jobs.batches[wildcards.batch]),
            "datasets": [file for name in paired for file in study.dataset_files(name)],
            "suites": [jobs.suite_file(name) for name in jobs.collections if name in study.suites],
        }

    def model_files(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return what one model is run from on one dataset."""
        datasets = self._study.dataset_files(wildcards.dataset)
        return {**self._files_of([wildcards.model]), "datasets": datasets}

    def tested_files(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return what models that an analysis tests together are run from."""
        tested = self._study.tested[wildcards.tested]
        files = [file for name in tested.datasets for file in self._study.dataset_files(name)]
        return {**self._files_of(tested.models), "datasets": files}

    def _files_of(self, models: Iterable[str]) -> dict[str, list[str]]:
        names = list(models)
        weights = (
            self._study.weights_file(name)
            for name in names
            # A missing checkpoint of the user is noticed before the first job, not in a dry run.
            if self._source(name).kind != CHECKPOINT or Path(self._source(name).source).is_file()
        )
        code = (self._source(name).code_file for name in names)
        return {
            "weights": [file for file in weights if file],
            "code": [str(file) for file in code if file],
        }

    def batch_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that runs a batch of models on all datasets."""
        jobs, batch = self._study.predicting, wildcards.batch
        indexes = [
            {
                "index": jobs.index(collection, batch),
                "key": jobs.key(collection, batch),
                **(
                    {"suite": jobs.suite_file(collection)}
                    if collection in self._study.suites
                    else {"sets": list(sets)}
                ),
            }
            for collection, sets in jobs.collections.items()
        ]
        return self._inference_arguments(jobs.batches[batch], indexes)

    def model_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that runs one model on one dataset."""
        jobs, dataset, model = self._study.predicting, wildcards.dataset, wildcards.model
        index = {
            "index": jobs.single_index(dataset, model),
            "key": jobs.single_key(dataset, model),
            "sets": [dataset],
        }
        return self._inference_arguments([model], [index])

    def tested_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that runs models that an analysis tests together."""
        jobs, batch = self._study.predicting, wildcards.tested
        tested = self._study.tested[batch]
        index = {
            "index": jobs.tested_index(batch),
            "key": jobs.tested_key(batch),
            "sets": list(tested.datasets),
        }
        return self._inference_arguments(tested.models, [index])

    def _inference_arguments(self, models: Iterable[str], indexes: list[Any]) -> list[str]:
        study, settings = self._study, self._study.inference
        run = [[asdict(self._source(name)), study.weights_file(name)] for name in models]
        return [
            "--models", json.dumps(run, sort_keys=True),
            "--indexes", json.dumps(indexes, sort_keys=True),
            "--datasets", study.dataset_folder("").rstrip("/"),
            "--predictions", study.predictions_folder,
            "--device", settings.device, "--precision", settings.precision,
            *(["--compile"] if settings.compile else []),
        ]  # fmt: skip

    def output_arguments(self, wildcards: Wildcards, output: Sequence[str]) -> list[str]:
        """Return the arguments of an inference job that name outputs besides the predictions."""
        settings = self._study.inference
        return [
            *(["--outputs", *settings.outputs] if settings.outputs else []),
            *(["--n-top", str(settings.top)] if "top" in settings.outputs else []),
        ]

    def _source(self, model: str) -> ModelSource:
        source = self._study.runnable[model].source
        assert source is not None, model  # models of known predictions are not run
        return source

    inference_version = INFERENCE_VERSION


class StageJobs(DatasetJobs, InferenceJobs):
    """Jobs from downloads to predictions."""

    def __init__(self, study: Study) -> None:
        self._study = study

    # --- how the machine is used: resources, because a changed parameter would repeat the job

    @property
    def download_options(self) -> str:
        """The mirror that files are downloaded from, and limits, as options."""
        mirror = f"--mirror {shlex.quote(self._study.mirror)}" if self._study.mirror else ""
        return mirror + self._study.download_options

    @property
    def training_options(self) -> str:
        """How training uses the machine, as options."""
        return self._study.training.machine_options if self._study.training else ""

    def training_sets(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the files of the sets that a model is trained and validated on, and of its start.

        Parameters
        ----------
        wildcards : Wildcards
            `model`.
        """
        trained = self._study.trained[wildcards.model]
        sets = {
            what: [file for name in names for file in self._study.dataset_files(name)]
            for what, names in (("train", trained.train), ("validation", trained.validation))
        }
        recipe = trained.model.recipe
        start = recipe.pretrained if recipe else ""
        # A study can be planned without the file.
        started = is_file_of_weights(start) and Path(start).is_file()
        return sets | ({"pretrained": [start]} if started else {})

    def training_waits_for(self, wildcards: Wildcards) -> list[str]:
        """Return the files that have to be there before a model is trained, however old."""
        file = self._study.trained[wildcards.model].waits_for
        return [file] if file else []

    def train_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a training job."""
        trained = self._study.trained[wildcards.model]
        return [
            "--name", wildcards.model, "--recipe", trained.model.recipe_json,
            "--train", *(self._study.dataset_folder(name) for name in trained.train),
            "--validation", *(self._study.dataset_folder(name) for name in trained.validation),
        ]  # fmt: skip
