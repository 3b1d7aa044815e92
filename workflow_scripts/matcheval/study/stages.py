"""Inputs, parameters and arguments of the jobs of rules, from downloads to predictions."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matcheval.execution.jobs import pack_argument
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

    def inference_options(self, wildcards: Wildcards) -> str:
        """Return the command-line options for batch size and processes of an inference job."""
        small = wildcards.batch in self._study.predicting.together
        return self._study.inference.machine_options + (" --processes" if small else "")

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
        own = study.made_index(wildcards.batch)  # one may be made from another of the same batch
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
        return [
            "--sets", pack_argument(sets), "--index", study.made_index(wildcards.batch),
            "--results", f"{study.results}/",
        ]  # fmt: skip

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
        return self._files_of(self._study.predicting.collections[wildcards.suite])

    def suite_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the job that checks the datasets of a suite."""
        sets = self._study.predicting.collections[wildcards.suite]
        suite = self._study.suites[wildcards.suite]
        # Other than the classes, what is known of a set changes nothing that is checked.
        members = [{"dataset": one.dataset, "classes": one.counting} for one in suite.members]
        folders = dict(zip(sets, self._folders(sets), strict=True))
        return {"suite": {"name": suite.name, "members": members}, "folders": folders}

    # --- training

    def training_sets(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the files of the sets that a model is trained and validated on, and of its start.

        Parameters
        ----------
        wildcards : Wildcards
            `model`.
        """
        trained = [self._study.trained[name] for name in self._trained_by(wildcards)]
        starts = (one.model.recipe.pretrained for one in trained if one.model.recipe)
        return {
            "train": self._files_of(name for one in trained for name in one.train),
            "validation": self._files_of(name for one in trained for name in one.validation),
            # A study can be planned without the file.
            "pretrained": sorted(
                {file for file in starts if is_file_of_weights(file) and Path(file).is_file()}
            ),
        }

    def _trained_by(self, wildcards: Wildcards) -> Sequence[str]:
        """Return the models of a training job: of a batch, or one."""
        batch = getattr(wildcards, "batch", None)
        return self._study.trainings.batches[batch] if batch else [wildcards.model]

    def train_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a training job."""
        trained = self._study.trained[wildcards.model]
        return [
            "--name", wildcards.model, "--recipe", trained.model.recipe_json,
            "--train", *self._folders(trained.train),
            "--validation", *self._folders(trained.validation),
        ]  # fmt: skip

    def train_batch_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job of several trainings."""
        study = self._study
        trainings = [
            [name, one.model.recipe_json, one.train, one.validation]
            for name in self._trained_by(wildcards)
            for one in [study.trained[name]]
        ]
        return [
            "--trainings", pack_argument(trainings), "--results", f"{study.results}/",
            "--index", study.trainings.index(wildcards.batch),
        ]  # fmt: skip

    # --- inference

    def batch_files(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the input files of an inference job: weights, code, datasets and suites."""
        study, jobs = self._study, self._study.predicting
        suites = [one for one in jobs.collections if one in study.suites]
        single = [one for one in jobs.collections if one not in study.suites]
        # The file of a suite stands for all its sets, and stays when images are deleted.
        sets = (name for suite in suites for name in jobs.collections[suite] if name in study.made)
        return {
            **self._run_files(jobs.models_of(wildcards.batch), single),
            "suites": list(map(jobs.suite_file, suites)),
            "made": list(
                dict.fromkeys(file for one in sets for file in study.description_inputs(one))
            ),
        }

    def model_files(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the inputs of the job that runs one model on one dataset."""
        return self._run_files([wildcards.model], [wildcards.dataset])

    def tested_files(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the inputs of the job that runs the models which an analysis tests together."""
        tested = self._study.tested[wildcards.tested]
        return self._run_files(tested.models, tested.datasets)

    def _run_files(self, models: Sequence[str], datasets: Iterable[str]) -> dict[str, list[str]]:
        sources = {name: self._source(name) for name in models}
        weights = (
            self._study.trainings.checkpoint_input(name)
            for name, source in sources.items()
            # A missing file of the user is noticed before the first job, not in a dry run.
            if not source.own_weights or Path(source.own_weights).is_file()
        )
        code = (source.code_file for source in sources.values())
        return {
            "weights": list(dict.fromkeys(file for file in weights if file)),
            "code": [str(file) for file in code if file],
            "datasets": self._files_of(datasets),
        }

    def batch_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that runs a batch of models on all datasets."""
        jobs, job = self._study.predicting, wildcards.batch
        indexes = []
        for batch in jobs.together.get(job, (job,)):
            for name, sets in jobs.collections.items():
                in_suite = name in self._study.suites
                of = {"suite": jobs.suite_file(name)} if in_suite else {"sets": list(sets)}
                index, key = jobs.index(name, batch), jobs.key(name, batch)
                models = {"models": jobs.batches[batch]} if job in jobs.together else {}
                indexes.append({"index": index, "key": key, **models, **of})
        return self._inference_arguments(jobs.models_of(job), indexes)

    def model_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that runs one model on one dataset."""
        jobs, place = self._study.predicting, (wildcards.dataset, wildcards.model)
        index = {"index": jobs.single_index(*place), "key": jobs.single_key(*place)}
        sets = [wildcards.dataset]
        return self._inference_arguments([wildcards.model], [{**index, "sets": sets}])

    def tested_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that runs models that an analysis tests together."""
        jobs, batch = self._study.predicting, wildcards.tested
        index = {"index": jobs.tested_index(batch), "key": jobs.tested_key(batch)}
        tested = self._study.tested[batch]
        return self._inference_arguments(tested.models, [{**index, "sets": list(tested.datasets)}])

    def _inference_arguments(self, models: Iterable[str], indexes: list[Any]) -> list[str]:
        study, settings = self._study, self._study.inference
        run = [[asdict(self._source(name)), study.weights_file(name)] for name in models]
        return [
            "--models", pack_argument(run), "--indexes", pack_argument(indexes),
            "--datasets", study.dataset_folder("").rstrip("/"),
            "--predictions", study.predictions_folder,
            "--device", settings.device, "--precision", settings.precision,
            *(["--compile"] if settings.compile else []),
        ]  # fmt: skip

    def output_arguments(self, wildcards: Wildcards, output: Sequence[str]) -> list[str]:
        """Return the arguments of an inference job that name outputs besides the predictions.

        It takes `output` because Snakemake does not compare parameters that it takes for derived
        from files: results stay as they are when an output is left out.
        """
        settings = self._study.inference
        outputs = ["--outputs", *settings.outputs] if settings.outputs else []
        return outputs + (["--n-top", str(settings.top)] if "top" in settings.outputs else [])

    def _source(self, model: str) -> ModelSource:
        source = self._study.runnable[model].source
        assert source is not None, model  # models of known predictions are not run
        return source
