"""A study: what is compared, with which models, and where each artifact lies."""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from matcheval.analyses.sampling import SAMPLING_VERSION
from matcheval.datasets import KIND_VERSIONS
from matcheval.errors import InputError
from matcheval.inference import OUTPUT_SUFFIXES
from matcheval.inference.planning import PixelJob
from matcheval.models.rows import CALLABLE, PUBLISHED
from matcheval.study.configuration import TRAINING_SETS
from matcheval.study.study_contents import StudyContents

STUDIES_FOLDER = "studies"  # what each study's names stand for: `shared_names`
# Folders of the results that studies share, and no study can be named after.
SHARED_FOLDERS = (
    "benchmarks",
    "checkpoints",
    "datasets",
    "downloads",
    "logs",
    "pixels",
    "pools",
    "predictions",
    "sampling",
    STUDIES_FOLDER,
    "weights",
)


class Study(StudyContents):
    """A checked study, and the files of its artifacts and of its inputs."""

    def experiment_files(self, experiment: str) -> list[str]:
        """Prediction files of an experiment, one per row of its table."""
        return [
            f"{self.results}/predictions/{trial.dataset}/{trial.model}.parquet"
            for trial in self.experiments[experiment].trials
        ]

    def predictions_file(self, dataset: str, model: str) -> str:
        """Where a model's predictions on a dataset lie: the user's own file, or ours."""
        spec = self.datasets[dataset]
        if spec.has_images:
            return f"{self.results}/predictions/{dataset}/{model}.parquet"
        return spec.own_file(model)

    def accuracy_files(self, dataset: str, models: Iterable[str] | None = None) -> list[str]:
        """All files that models' accuracies on a dataset are counted from, each once.

        Of all models of the study, if none are named.
        """
        spec, chosen = self.datasets[dataset], list(self.models if models is None else models)
        if spec.has_images:
            return [self.predictions_file(dataset, model) for model in chosen]
        return spec.own_files(chosen)

    def first_classes_files(self, dataset: str) -> list[str]:
        """Files of the models' first classes on a dataset of images, if more than one counts."""
        if max(self.replication.top) == 1 or not self.datasets[dataset].has_images:
            return []
        return [
            file.removesuffix(".parquet") + OUTPUT_SUFFIXES["top"]
            for file in self.accuracy_files(dataset)
        ]

    @property
    def annotated(self) -> dict[str, str]:
        """Provenance of the sampled datasets with selection frequencies, by name."""
        return {
            name: f"{self.results}/sampling/{name}/provenance.parquet"
            for name in self.sampled
            if name in self.compared and self.pool_of(name).has_answers
        }

    def pool_files_state(self, pool: str) -> list[tuple[int, int]]:
        """Size and time of the user's own files about a pool."""
        settings = self.pools[pool]
        answers = [] if settings.answers is None else [settings.answers]
        return _states([*answers, *settings.own_files.values()])

    def own_files_state(self, pair: str, models: Iterable[str]) -> list[tuple[int, int]]:
        """Size and time of the user's own prediction files of a pair.

        A parameter of the rules that read them: a file that is replaced by an older one is
        another file, which its time alone does not tell Snakemake.
        """
        both = (self.pairs[pair].original, self.pairs[pair].replication)
        own = [name for name in both if not self.datasets[name].has_images]
        return _states(self.predictions_file(name, model) for model in models for name in own)

    def own_accuracy_files_state(self, dataset: str) -> list[tuple[int, int]]:
        """Size and time of the user's own files that a dataset's accuracies are counted from."""
        return [] if self.datasets[dataset].has_images else _states(self.accuracy_files(dataset))

    def followup_file(self, kind: str, dataset: str) -> list[str]:
        """The file that a follow-up on a dataset reads beside what is right, if any."""
        file = self.followups.on_datasets[kind][dataset]
        if kind == "by_frequency" and not file:
            file = f"{self.results}/sampling/{dataset}/provenance.parquet"
        return [file] if file else []

    def followup_files_state(self, key: str, name: str) -> list[tuple[int, int]]:
        """Size and time of the user's own file of a follow-up of a dataset or pair."""
        file = self.followups.own_files.get(key, {}).get(name)
        return [] if file is None else _states([file])

    def inference_files(self, dataset: str, model: str) -> list[str]:
        """All that is wanted of a model's inference on a dataset: predictions, and what else."""
        predictions = self.predictions_file(dataset, model)
        if not self.datasets[dataset].has_images:
            return [predictions]
        stem = predictions.removesuffix(".parquet")
        further = [stem + OUTPUT_SUFFIXES[output] for output in self.inference["outputs"]]
        return [predictions, *further]

    def weights_file(self, model: str) -> str | None:
        """Where a model's weights lie; None for a callable, and for known predictions."""
        source = self.runnable[model].source
        if source is None or source.kind == CALLABLE:
            return None
        if source.kind in PUBLISHED:
            return f"{self.results}/weights/{self.inference_plan.published[model].file_name}"
        return source.source or f"{self.results}/checkpoints/{model}.safetensors"

    @property
    def downloads(self) -> list[str]:
        """All that is downloaded for this study: files of datasets, and weights."""
        used = {*self.compared, *(self.training[part] for part in TRAINING_SETS if self.training)}
        used |= {name for pool in self.pools.values() for name in pool.sets}
        published = {file for name in used for file in self.datasets[name].published_files}
        files = [f"{self.results}/downloads/{file}" for file in sorted(published)]
        return files + [f"{self.results}/weights/{f}" for f in self.inference_plan.weights_urls]

    def ticket_file(self, dataset: str, model: str) -> str | None:
        """Where a model is told of a dataset's pixel cache; None if it takes pixels as stored."""
        return self.inference_plan.ticket(model, dataset, self._identity(dataset))

    @cached_property
    def pixel_jobs(self) -> dict[str, PixelJob]:
        """Pixel caches to be made or waived in this run, by ticket."""
        jobs: dict[str, PixelJob] = {}
        for dataset in self.compared:
            if self.datasets[dataset].has_images:
                files = {model: self.inference_files(dataset, model) for model in self.models}
                jobs |= self.inference_plan.pixel_jobs(dataset, self._identity(dataset), files)
        return jobs

    def _identity(self, dataset: str) -> str:
        """What a dataset is made of, as text."""
        if dataset in self.derivations:
            return self.derivations[dataset].json
        spec = self.datasets[dataset]
        version = KIND_VERSIONS.get(spec.kind, SAMPLING_VERSION)
        return f"{spec.kind} {spec.options_json} {version}"

    def predictions_of_pair(self, pair: str, models: Iterable[str]) -> dict[str, list[str]]:
        """Prediction files of some models on both sets of a pair, by origin."""
        if pair not in self.matched_pairs:
            raise InputError(
                f"pair '{pair}' cannot be matched: one of its sets has no probabilities",
                file="configuration",
                field=f"pairs.{pair}",
                remedy="It takes part in the replication tables only",
            )
        models = list(models)
        both = self.pairs[pair]
        return {
            "original": [self.predictions_file(both.original, model) for model in models],
            "replication": [self.predictions_file(both.replication, model) for model in models],
        }


def _states(files: Iterable[str]) -> list[tuple[int, int]]:
    stats = [Path(file).stat() for file in files]
    return [(stat.st_size, stat.st_mtime_ns) for stat in stats]
