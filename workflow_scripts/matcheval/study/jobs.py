"""Inputs, parameters and arguments of the jobs of the stages that all analyses build upon.

Rules in `rules/` name these methods; each takes a job's wildcards.
"""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from matcheval.datasets.derivations import DERIVATION_VERSION
from matcheval.datasets.kinds import builder_version
from matcheval.inference import INFERENCE_VERSION, OUTPUT_SUFFIXES
from matcheval.inference.planning import PixelJob
from matcheval.study.analysis import Wildcards
from matcheval.study.study import Study


class StageJobs:
    """Jobs from downloads to predictions.

    Parameters
    ----------
    study : Study
    """

    def __init__(self, study: Study) -> None:
        self._study = study

    # --- how the machine is used: resources, because a changed parameter would repeat the job

    @property
    def mirror_option(self) -> str:
        """The mirror that files are downloaded from, as an option; empty for none."""
        return f"--mirror {shlex.quote(self._study.mirror)}" if self._study.mirror else ""

    @property
    def training_options(self) -> str:
        """How training uses the machine, as options."""
        return self._study.training.machine_options if self._study.training else ""

    @property
    def inference_options(self) -> str:
        """How inference uses the machine, as options."""
        return self._study.inference.machine_options

    # --- datasets

    def downloads_of(self, wildcards: Wildcards) -> list[str]:
        """Return the published files that a dataset is built from.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset`.
        """
        names = self._study.datasets[wildcards.dataset].settings.published_files
        return [f"{self._study.results}/downloads/{name}" for name in names]

    def prepare_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that prepares a dataset.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset`.
        """
        spec = self._study.datasets[wildcards.dataset]
        return [
            "--name", spec.name, "--kind", spec.kind, "--options", spec.options_json,
            "--downloads", f"{self._study.results}/downloads",
            "--output", self._study.dataset_folder(spec.name),
        ]  # fmt: skip

    def prepare_threads(self, wildcards: Wildcards) -> int:
        """Return the threads of a job that prepares a dataset.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset`.
        """
        return self._study.datasets[wildcards.dataset].preparing_threads

    def dataset_version(self, wildcards: Wildcards) -> list[Any]:
        """Return what else a prepared dataset depends on: the builder's version, the user's files.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset`.
        """
        spec = self._study.datasets[wildcards.dataset]
        return [builder_version(spec.kind), spec.custom_files_state]

    def derivation_sources(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the datasets that a dataset is derived from.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset`.
        """
        names = self._study.derivations[wildcards.dataset].of
        return [file for name in names for file in self._study.dataset_files(name)]

    def derive_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that derives a dataset.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset`.
        """
        derivation = self._study.derivations[wildcards.dataset]
        return [
            "--derivation", derivation.json,
            "--sources", *(self._study.dataset_folder(name) for name in derivation.of),
            "--output", self._study.dataset_folder(wildcards.dataset),
        ]  # fmt: skip

    derivation_version = DERIVATION_VERSION

    def descriptions_of_pair(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the descriptions of both sets of a pair, by origin.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`.
        """
        datasets = self._study.pairs[wildcards.pair].datasets.items()
        return {origin: self._study.dataset_files(name)[0] for origin, name in datasets}

    # --- training

    def training_sets(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the files of the sets that a model is trained and validated on.

        Parameters
        ----------
        wildcards : Wildcards
            `model`.
        """
        trained = self._study.trained[wildcards.model]
        return {
            "train": [file for name in trained.train for file in self._study.dataset_files(name)],
            "validation": self._study.dataset_files(trained.validation),
        }

    def train_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a training job.

        Parameters
        ----------
        wildcards : Wildcards
            `model`.
        """
        trained = self._study.trained[wildcards.model]
        return [
            "--name", wildcards.model, "--recipe", trained.model.recipe_json,
            "--train", *(self._study.dataset_folder(name) for name in trained.train),
            "--validation", self._study.dataset_folder(trained.validation),
        ]  # fmt: skip

    # --- inference

    def weights_url(self, wildcards: Wildcards) -> str:
        """Return where a file of weights is published.

        Parameters
        ----------
        wildcards : Wildcards
            `weights`.
        """
        return self._study.inference_plan.weights_urls[wildcards.weights]

    def model_files(self, wildcards: Wildcards) -> dict[str, str]:
        """Return what a model is loaded from: weights, and the code of a callable.

        Parameters
        ----------
        wildcards : Wildcards
            `model`.
        """
        source = self._study.runnable[wildcards.model].source
        assert source is not None  # models of known predictions are not run
        files = {"weights": self._study.weights_file(wildcards.model), "code": source.code_file}
        return {name: str(file) for name, file in files.items() if file}

    def manifest(self, wildcards: Wildcards) -> str | None:
        """Return the manifest of the pixel cache that a model may read; None if there is none.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset` and `model`.
        """
        return self._study.manifest_file(wildcards.dataset, wildcards.model)

    def is_waiting(self, wildcards: Wildcards) -> bool:
        """Whether this run writes a manifest for a model, and the model's predictions with it.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset` and `model`.
        """
        job = self._study.pixel_jobs.get(self.manifest(wildcards) or "")
        predictions = self._study.predictions_file(wildcards.dataset, wildcards.model)
        return job is not None and predictions in job.waiting

    @property
    def prediction_outputs(self) -> dict[str, str]:
        """Files that inference writes, by output, with wildcards `dataset` and `model`."""
        stem = f"{self._study.results}/predictions/{{dataset}}/{{model}}"
        outputs = ("predictions", *self._study.inference.outputs)
        return {name: stem + OUTPUT_SUFFIXES[name] for name in outputs}

    def predict_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of an inference job.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset` and `model`.
        """
        study, settings = self._study, self._study.inference
        source = study.runnable[wildcards.model].source
        assert source is not None  # models of known predictions are not run
        return [
            "--model", source.to_json(),
            "--dataset", study.dataset_folder(wildcards.dataset),
            "--dataset-name", wildcards.dataset,
            "--device", settings.device, "--precision", settings.precision,
            *(["--compile"] if settings.compile else []),
        ]  # fmt: skip

    def predict_files(
        self, wildcards: Wildcards, input: Mapping[str, Any], output: Mapping[str, Any]
    ) -> list[str]:
        """Return the arguments of an inference job that name its files.

        Snakemake records no parameters that are derived from inputs and outputs, so that an output
        that is left out again does not repeat the predictions.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset` and `model`.
        input, output : mapping of str to path or list of paths
            The job's files.
        """
        read = [pair for pair in input.items() if pair[0] in ("weights", "manifest")]
        named = [pair for pair in (*read, *output.items()) if pair[1]]
        settings = self._study.inference
        return [
            *(word for name, file in named for word in (f"--{name}", str(file))),
            *(["--n-top", str(settings.top)] if "top" in settings.outputs else []),
        ]

    def inference_version(self, wildcards: Wildcards) -> list[Any]:
        """Return what else predictions depend on: the version of inference, a callable's code.

        Parameters
        ----------
        wildcards : Wildcards
            `model`.
        """
        source = self._study.runnable[wildcards.model].source
        assert source is not None  # models of known predictions are not run
        return [INFERENCE_VERSION, source.code_digest]

    # --- pixel caches

    @property
    def manifests(self) -> list[str]:
        """Values of the wildcard `manifest`: the manifests that this run writes."""
        below = f"{self._study.results}/pixels/"
        return [file.removeprefix(below).removesuffix(".json") for file in self._study.pixel_jobs]

    def pixel_dataset(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the dataset of a pixel cache.

        Parameters
        ----------
        wildcards : Wildcards
            `manifest`.
        """
        return self._study.dataset_files(self._pixel_job(wildcards).dataset)

    def transform_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that builds a pixel cache.

        Parameters
        ----------
        wildcards : Wildcards
            `manifest`.
        """
        job = self._pixel_job(wildcards)
        return [
            "--dataset", self._study.dataset_folder(job.dataset),
            "--geometry", json.dumps(job.geometry.to_mapping()),
            "--pixels", job.file(self._study.results),
            "--manifest", f"{self._study.results}/pixels/{wildcards.manifest}.json",
            *(["--keep"] if self._study.inference.keep_pixels else []),
            "--waiting", *(job.waiting if job.cached else ()),
        ]  # fmt: skip

    def _pixel_job(self, wildcards: Wildcards) -> PixelJob:
        return self._study.pixel_jobs[f"{self._study.results}/pixels/{wildcards.manifest}.json"]
