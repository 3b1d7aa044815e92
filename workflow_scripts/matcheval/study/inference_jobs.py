"""Inputs and arguments of the jobs that run models on datasets."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matcheval.inference import INFERENCE_VERSION
from matcheval.models.rows import CHECKPOINT, ModelSource
from matcheval.study.analysis import Wildcards
from matcheval.study.study import Study


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
