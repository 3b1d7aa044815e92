"""Inputs, parameters and arguments of the jobs of rules, from downloads to predictions."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matcheval.execution.jobs import pack_argument
from matcheval.inference import N_TOP
from matcheval.io.files import file_states
from matcheval.models.packages import is_file_of_weights
from matcheval.models.rows import ModelSource
from matcheval.study.rules import Wildcards
from matcheval.study.study import Study


class StageJobs:
    """The jobs of a study's stages, by their wildcards."""

    def __init__(self, study: Study) -> None:
        self._study = study

    def _files_of(self, datasets: Iterable[str]) -> list[str]:
        files = (file for name in datasets for file in self._study.dataset_inputs(name))
        return list(dict.fromkeys(files))

    def _folders(self, datasets: Iterable[str]) -> list[str]:
        return [self._study.dataset_folder(name) for name in datasets]

    # --- how the machine is used: resources, because a changed parameter would repeat the job

    @property
    def download_options(self) -> str:
        """Command-line options for downloads: the mirror, and limits."""
        mirror = f"--mirror {shlex.quote(self._study.mirror)}" if self._study.mirror else ""
        return mirror + self._study.download_options

    def file_options(self, wildcards: Wildcards) -> str:
        """Return the command-line options for the download of a published file."""
        file, options = self._study.listed_downloads.get(wildcards.file), self.download_options
        if file is None or not file.path:
            return options
        sizes = f"--size {file.expected.size} --path {shlex.quote(file.path)}"
        return (
            f"--url {shlex.quote(file.urls[0])} --sha256 {file.expected.sha256} {sizes} {options}"
        )

    @property
    def training_options(self) -> str:
        """Command-line options for the device, speed and saving of training."""
        return self._study.training.machine_options if self._study.training else ""

    @property
    def inference_options(self) -> str:
        """Command-line options for the device, batch size and speed of an inference job."""
        return self._study.inference.machine_options

    # --- datasets and suites

    def prepare_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that prepares a dataset."""
        spec = self._study.datasets[wildcards.dataset]
        return [
            "--name", spec.name, "--kind", spec.kind, "--options", spec.options_json,
            "--downloads", f"{self._study.results}/downloads",
            "--output", self._study.dataset_folder(spec.name),
        ]  # fmt: skip

    def dataset_version(self, wildcards: Wildcards) -> list[Any]:
        """Return what else a prepared dataset depends on: the builder's version, the user's files.

        Parameters
        ----------
        wildcards : Wildcards
            `dataset`.
        """
        spec = self._study.datasets[wildcards.dataset]
        return [spec.settings.builder_version, self._study.dataset_state(spec.name)]

    def made_sources(self, wildcards: Wildcards) -> list[str]:
        """Return the files that made datasets are prepared from."""
        study, names = self._study, self._study.made_batches[wildcards.batch]
        own = study.made_folder(wildcards.batch)  # one may be made from another of the same batch
        files = (file for name in names for file in study.files_before(name) if file != own)
        return list(dict.fromkeys(files))

    def made_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that prepares made datasets."""
        study = self._study
        sets = []
        for name in study.made_batches[wildcards.batch]:
            spec = study.datasets[name]
            settings = spec.settings
            files = [*settings.sources], [*settings.published_files]
            sets.append([name, spec.kind, spec.options, settings.builder_version, *files])
        return ["--sets", pack_argument(sets), "--results", f"{study.results}/"]

    def made_version(self, wildcards: Wildcards) -> list[str]:
        """Return digests of the user's files that the datasets of a batch are made from."""
        names = self._study.made_batches[wildcards.batch]
        return sorted({self._study.dataset_state(name) for name in names})

    def derivation_sources(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the datasets that a dataset is derived from."""
        return self._files_of(self._study.derivations[wildcards.dataset].of)

    def derive_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the command-line arguments of the job that makes a derived dataset."""
        derivation = self._study.derivations[wildcards.dataset]
        return [
            "--derivation", derivation.json,
            "--sources", *self._folders(derivation.of),
            "--output", self._study.dataset_folder(wildcards.dataset),
        ]  # fmt: skip

    def described_before(self, wildcards: Wildcards) -> list[str]:
        """Return the files that have to be there before the sets of a pair are compared."""
        datasets = self._study.pairs[wildcards.pair].datasets.values()
        return [file for name in datasets for file in self._study.description_inputs(name)[:1]]

    def descriptions_of_pair(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the descriptions of both sets of a pair, by origin."""
        datasets = self._study.pairs[wildcards.pair].datasets.items()
        return {origin: self._study.dataset_files(name)[0] for origin, name in datasets}

    def suite_datasets(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the datasets of a suite."""
        return self._files_of(self._study.predicting.checked_suites[wildcards.suite])

    def suite_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the job that checks the datasets of a suite."""
        sets = self._study.predicting.checked_suites[wildcards.suite]
        suite = self._study.suites[wildcards.suite]
        # Other than the classes, what is known of a set changes nothing that is checked.
        members = [{"dataset": one.dataset, "classes": one.counting} for one in suite.members]
        folders = dict(zip(sets, self._folders(sets), strict=True))
        return {"suite": {"name": suite.name, "members": members}, "folders": folders}

    # --- training

    def training_inputs(self, models: Sequence[str]) -> dict[str, list[str]]:
        """Return the files of the sets that models are trained and validated on, and of starts."""
        trained = [self._study.trained[name] for name in models]
        return {
            "train": self._files_of(name for one in trained for name in one.train),
            "validation": self._files_of(name for one in trained for name in one.validation),
            "pretrained": self._starts(models),
        }

    def _starts(self, models: Sequence[str]) -> list[str]:
        """Return the user's files of weights that trainings start from; a plan can lack them."""
        recipes = (self._study.trained[name].model.recipe for name in models)
        starts = (recipe.pretrained for recipe in recipes if recipe)
        return sorted({one for one in starts if is_file_of_weights(one) and Path(one).is_file()})

    def starts_state(self, models: Sequence[str]) -> list[tuple[int, int]]:
        """Return size and time of the user's files of weights that trainings start from."""
        return file_states(self._starts(models))

    def training_arguments(self, models: Sequence[str]) -> list[str]:
        """Return the arguments of a job that trains models."""
        study, trained = self._study, self._study.trained
        trainings = [
            [name, trained[name].model.recipe_json, trained[name].train, trained[name].validation]
            for name in models
        ]
        return [
            "--trainings", pack_argument(trainings),
            "--datasets", f"{study.results}/datasets",
            "--checkpoints", f"{study.results}/checkpoints",
            "--links", f"{study.folder}/checkpoints",
        ]  # fmt: skip

    # --- inference

    def predicting_inputs(self, models: Sequence[str]) -> dict[str, list[str]]:
        """Return the inputs of a job that runs models on all datasets: weights, code, datasets."""
        study, jobs = self._study, self._study.predicting
        # The file of a suite stands for all its sets, and stays when images are deleted.
        suites = list(jobs.checked_suites)
        made = (name for one in jobs.suites.values() for name in one if name in study.made)
        described = (file for name in made for file in study.description_inputs(name))
        return {
            **self._run_inputs(models, jobs.single),
            "suites": list(map(jobs.suite_file, suites)),
            "made": list(dict.fromkeys(described)),
        }

    def model_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the inputs of the job that runs one model on one dataset."""
        return self._run_inputs([wildcards.model], [wildcards.dataset])

    def tested_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the inputs of the job that runs the models which an analysis tests together."""
        tested = self._study.tested[wildcards.tested]
        return self._run_inputs(tested.models, tested.datasets)

    def _run_inputs(self, models: Iterable[str], datasets: Iterable[str]) -> dict[str, list[str]]:
        made, own = list[str](), list[str]()
        for name in models:
            weights, (files, code) = self._study.weights_file(name), self._custom(name)
            own += [*files, *code]
            made += [weights] if weights and not self._source(name).own_weights else []
        return {
            "weights": list(dict.fromkeys(made)),
            "custom": list(dict.fromkeys(own)),
            "datasets": self._files_of(datasets),
        }

    def _custom(self, model: str) -> tuple[list[str], list[str]]:
        """Return the user's files of a model: weights, and code. A plan can lack the former."""
        source = self._source(model)
        weights = [source.own_weights] if Path(source.own_weights).is_file() else []
        return weights, [str(source.code_file)] if source.code_file else []

    def models_state(self, models: Sequence[str]) -> list[Any]:
        """Return what tells the user's files of models: size and time of weights, code's digest."""
        weights = [file for name in models for file in self._custom(name)[0]]
        return [file_states(weights), sorted({self._source(name).code_digest for name in models})]

    def predicting_arguments(self, models: Sequence[str]) -> list[str]:
        """Return the arguments of a job that runs models on all datasets."""
        jobs, folder = self._study.predicting, f"{self._study.folder}/predictions"
        places = [{"sets": jobs.single, "stem": f"{folder}/{{dataset}}/{{model}}"}]
        for suite, sets in jobs.suites.items():
            stem = f"{folder}/{suite}/{{model}}/{{dataset}}"
            whole = sets == jobs.checked_suites[suite]  # not named in every command
            of = {"suite": jobs.suite_file(suite)} if whole else {"sets": sets}
            places.append({**of, "stem": stem})
        return self._inference_arguments(models, places)

    def model_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that runs one model on one dataset."""
        stem = f"{self._study.folder}/predictions/{{dataset}}/{{model}}"
        return self._inference_arguments(
            [wildcards.model], [{"sets": [wildcards.dataset], "stem": stem}]
        )

    def tested_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that runs models that an analysis tests together."""
        tested = self._study.tested[wildcards.tested]
        stem = f"{self._study.predicting.tested_folder(wildcards.tested)}/{{dataset}}/{{model}}"
        place = {"sets": list(tested.datasets), "stem": stem}
        return self._inference_arguments(tested.models, [place])

    def _inference_arguments(self, models: Iterable[str], places: list[Any]) -> list[str]:
        study, settings = self._study, self._study.inference
        run = [[asdict(self._source(name)), study.weights_file(name)] for name in models]
        return [
            "--models", pack_argument(run), "--places", pack_argument(places),
            "--datasets", f"{study.results}/datasets",
            "--predictions", f"{study.results}/predictions",
            "--device", settings.device, "--precision", settings.precision,
            *(["--compile"] if settings.compile else []),
        ]  # fmt: skip

    @property
    def output_options(self) -> str:
        """Command-line options that name outputs besides the predictions.

        No parameter: results stay as they are when an output is left out.
        """
        settings = self._study.inference
        outputs = " ".join(["--outputs", *settings.outputs]) if settings.outputs else ""
        return outputs + (f" --n-top {settings.top}" if "top" in settings.outputs else "")

    @property
    def outputs_state(self) -> list[Any]:
        """What of the outputs no declared file tells: how many classes are kept, and folders'."""
        settings = self._study.inference
        n_top = settings.top if "top" in settings.outputs and settings.top != N_TOP else None
        return [n_top, list(settings.outputs) if self._study.predicting.suites else []]

    def _source(self, model: str) -> ModelSource:
        source = self._study.runnable[model].source
        assert source is not None, model  # models of known predictions are not run
        return source
