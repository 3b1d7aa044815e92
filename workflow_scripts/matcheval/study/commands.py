"""Arguments of the commands of rules, from downloads to predictions, and what results depend on.

How the machine is used (`..._options`) is a resource of the rules, because a changed parameter
would repeat their jobs.
"""

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


class Commands:
    """Arguments of the commands of a study's jobs, and the states that their results depend on."""

    def __init__(self, study: Study) -> None:
        self._study = study
        mirror = f"--mirror {shlex.quote(study.mirror)}" if study.mirror else ""
        self.download_options = mirror + study.download_options
        self.training_options = study.training.machine_options if study.training else ""
        self.inference_options = study.inference.machine_options

    def file_options(self, wildcards: Wildcards) -> str:
        """Return the command-line options for the download of a published file."""
        file, options = self._study.listed_downloads.get(wildcards.file), self.download_options
        if file is None or not file.path:
            return options
        sizes = f"--size {file.expected.size} --path {shlex.quote(file.path)}"
        return (
            f"--url {shlex.quote(file.urls[0])} --sha256 {file.expected.sha256} {sizes} {options}"
        )

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
        """Return the version of the builder and the state of the user's files of a dataset."""
        spec = self._study.datasets[wildcards.dataset]
        return [spec.settings.builder_version, self._study.dataset_state(spec.name)]

    def made_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that prepares datasets whose images are made when read."""
        study = self._study
        sets = []
        for name in study.made_batches[wildcards.batch]:
            spec = study.datasets[name]
            settings = spec.settings
            files = [*settings.sources], [*settings.published_files]
            sets.append([name, spec.kind, spec.options, settings.builder_version, *files])
        return ["--sets", pack_argument(sets), "--results", f"{study.results}/"]

    def made_version(self, wildcards: Wildcards) -> list[str]:
        """Return digests of the user's files behind a batch of datasets that are made when read."""
        names = self._study.made_batches[wildcards.batch]
        return sorted({self._study.dataset_state(name) for name in names})

    def derive_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of the job that makes a derived dataset."""
        study, derivation = self._study, self._study.derivations[wildcards.dataset]
        return [
            "--derivation", derivation.json,
            "--sources", *map(study.dataset_folder, derivation.of),
            "--output", study.dataset_folder(wildcards.dataset),
        ]  # fmt: skip

    def pair_descriptions(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the description files of both datasets of a pair, by origin."""
        datasets = self._study.pairs[wildcards.pair].datasets.items()
        return {origin: self._study.description_files(name)[0] for origin, name in datasets}

    def suite_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of the job that checks the datasets of a suite."""
        study, suite = self._study, self._study.suites[wildcards.suite]
        # Other than the classes, what is known of a set changes nothing that is checked.
        members = [
            {"dataset": member.dataset, "classes": member.counting} for member in suite.members
        ]
        sets = study.predicting.checked_suites[suite.name]
        folders = {name: study.dataset_folder(name) for name in sets}
        return {"suite": {"name": suite.name, "members": members}, "folders": folders}

    # --- training

    def start_weights(self, models: Sequence[str]) -> list[str]:
        """Return the user's existing files of weights that trainings of models start from."""
        starts = {self._study.trained[name].recipe.pretrained for name in models}
        return sorted(s for s in starts if is_file_of_weights(s) and Path(s).is_file())

    def start_weights_state(self, models: Sequence[str]) -> list[tuple[int, int]]:
        """Return the size and modification time of each file in `start_weights`."""
        return file_states(self.start_weights(models))

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

    def _model_source(self, model: str) -> ModelSource:
        source = self._study.runnable[model].source
        assert source is not None, model  # models of known predictions are not run
        return source

    def custom_weights(self, models: Iterable[str]) -> list[str]:
        """Return the user's existing files of the weights of models."""
        files = (self._model_source(name).own_weights for name in models)
        return [file for file in files if Path(file).is_file()]

    def custom_code(self, models: Iterable[str]) -> list[str]:
        """Return models' files of code, of packages' weights or of class names (`code_file`)."""
        files = (self._model_source(name).code_file for name in models)
        return [str(file) for file in files if file]

    def models_state(self, models: Sequence[str]) -> list[Any]:
        """Return the state of models' files: of weights and, as digests, of every `code_file`."""
        digests = sorted({self._model_source(name).code_digest for name in models})
        return [file_states(self.custom_weights(models)), digests]

    def predicting_arguments(self, models: Sequence[str]) -> list[str]:
        """Return the arguments of a job that runs models on all datasets of pairs and suites."""
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
        """Return the arguments of a job that runs models which an analysis tests together."""
        tested = self._study.tested[wildcards.tested]
        stem = f"{self._study.predicting.tested_folder(wildcards.tested)}/{{dataset}}/{{model}}"
        place = {"sets": list(tested.datasets), "stem": stem}
        return self._inference_arguments(tested.models, [place])

    def _inference_arguments(self, models: Iterable[str], places: list[Any]) -> list[str]:
        """Return the arguments of a job that runs models on the sets that `places` name."""
        study, settings = self._study, self._study.inference
        run = [[asdict(self._model_source(name)), study.weights_file(name)] for name in models]
        return [
            "--models", pack_argument(run), "--places", pack_argument(places),
            "--datasets", f"{study.results}/datasets",
            "--predictions", f"{study.results}/predictions",
            "--device", settings.device, "--precision", settings.precision,
            *(["--compile"] if settings.compile else []),
        ]  # fmt: skip

    @property
    def output_options(self) -> str:
        """Command-line options that name the outputs to write besides the predictions."""
        settings = self._study.inference
        outputs = " ".join(["--outputs", *settings.outputs]) if settings.outputs else ""
        return outputs + (f" --n-top {settings.top}" if "top" in settings.outputs else "")

    @property
    def outputs_state(self) -> list[Any]:
        """Output settings that no declared file shows: classes kept, and outputs within suites."""
        settings = self._study.inference
        n_top = settings.top if "top" in settings.outputs and settings.top != N_TOP else None
        return [n_top, list(settings.outputs) if self._study.predicting.suites else []]
