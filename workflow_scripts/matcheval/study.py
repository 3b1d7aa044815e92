"""A study: what is compared, with which models, and where each artifact lies."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from matcheval.catalogue import Model
from matcheval.config import TRAINING_SETS
from matcheval.dataset_specs import SAMPLED_KIND, DatasetSpec
from matcheval.datasets import KIND_VERSIONS
from matcheval.derivations import Derivation
from matcheval.errors import InputError
from matcheval.experiments.designs import Experiment, Trained
from matcheval.followups.settings import FollowUps
from matcheval.inference import OUTPUT_SUFFIXES
from matcheval.inference.planning import InferencePlan, PixelJob
from matcheval.models.rows import CALLABLE, PUBLISHED
from matcheval.replication.published_values import read_published, tables_of
from matcheval.replication.settings import ReplicationSettings
from matcheval.sampling import SAMPLING_VERSION
from matcheval.sampling.settings import PoolSettings
from matcheval.settings import Criterion, Pair
from matcheval.statistics.lines import MIN_MODELS

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


@dataclass(frozen=True)
class Study:
    """A checked study.

    Attributes
    ----------
    name, results : str
        Its name; the folder of all results.
    mirror : str
        Folder or address that replaces every host of downloads; empty for none.
    models : mapping
        Models by name, in catalogue order.
    datasets, pairs : mapping
        By name.
    pools : mapping
        Pools that sampled datasets are taken from, by name.
    training : mapping
        Names of the sets for `train` and `validation`, and how to train (see
        `training.engine.Engine`); empty if nothing is trained.
    criteria : tuple of Criterion
    epsilon : float
    seeds : tuple of int
    models_per_job : int
        How many models one matching job takes.
    inference : mapping
        How models are run, as the configuration has it.
    inference_plan : InferencePlan
        Weights and pixel caches that the models need.
    formats : tuple of str
        File formats of the figures.
    reliability_models, save_pairs : tuple of str
        Models with a reliability diagram; models whose matched pairs are asked for.
    reliability_bins : int
    replication : ReplicationSettings
        Of the replication tables.
    experiments : mapping
        Experiments by name.
    followups : FollowUps
        Which follow-ups are made.
    """

    name: str
    results: str
    mirror: str
    models: Mapping[str, Model]
    datasets: Mapping[str, DatasetSpec]
    pairs: Mapping[str, Pair]
    training: Mapping[str, Any]
    pools: Mapping[str, PoolSettings]
    criteria: tuple[Criterion, ...]
    epsilon: float
    seeds: tuple[int, ...]
    models_per_job: int
    inference: Mapping[str, Any]
    inference_plan: InferencePlan
    formats: tuple[str, ...]
    reliability_models: tuple[str, ...]
    save_pairs: tuple[str, ...]
    reliability_bins: int
    replication: ReplicationSettings
    experiments: Mapping[str, Experiment]
    followups: FollowUps

    @cached_property
    def derivations(self) -> dict[str, Derivation]:
        """Datasets that experiments derive from the study's, by name."""
        return {
            name: derivation
            for experiment in self.experiments.values()
            for name, derivation in experiment.derivations.items()
        }

    @cached_property
    def trained(self) -> dict[str, Trained]:
        """All models that are trained, those of experiments included, by name."""
        own = {
            name: Trained(model, self.training["train"], self.training["validation"])
            for name, model in self.models.items()
            if model.recipe is not None and self.training
        }
        further = [experiment.trained for experiment in self.experiments.values()]
        return own | {name: model for models in further for name, model in models.items()}

    @cached_property
    def runnable(self) -> dict[str, Model]:
        """All models that may be run, those of experiments included, by name."""
        return {**self.models, **{name: each.model for name, each in self.trained.items()}}

    def experiment_files(self, experiment: str) -> list[str]:
        """Prediction files of an experiment, one per row of its table."""
        return [
            f"{self.results}/predictions/{trial.dataset}/{trial.model}.parquet"
            for trial in self.experiments[experiment].trials
        ]

    @property
    def matched_pairs(self) -> list[str]:
        """Names of the pairs that can be matched: both sets have probabilities."""
        return [
            name
            for name, pair in self.pairs.items()
            if all(self.datasets[d].has_probabilities for d in (pair.original, pair.replication))
        ]

    @property
    def undecided_pairs(self) -> list[str]:
        """Names of the pairs of images whose classes can be compared only once they are built."""
        both = {
            name: [self.datasets[d] for d in (pair.original, pair.replication)]
            for name, pair in self.pairs.items()
        }
        return [
            name
            for name, sets in both.items()
            if all(s.has_images for s in sets) and any(s.classes is None for s in sets)
        ]

    @property
    def fitted_scales(self) -> list[str]:
        """Scales of the fits that can be made; not those with too few models for a line."""
        return [
            scale.value
            for scale in self.replication.scales
            if len(set(self.models) - set(self.replication.left_out(scale))) >= MIN_MODELS
        ]

    @property
    def batches(self) -> dict[str, list[str]]:
        """Names of the models that are matched in one job, by the name of the batch.

        Batches follow catalogue order, so that a model appended re-runs just the last one.
        """
        names, size = list(self.models), self.models_per_job
        starts = range(0, len(names), size)
        return {f"{start // size:03d}": names[start : start + size] for start in starts}

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
    def compared(self) -> list[str]:
        """Names of the sets that are in a pair."""
        pairs = self.pairs.values()
        return sorted({name for pair in pairs for name in (pair.original, pair.replication)})

    @property
    def sampled(self) -> list[str]:
        """Names of the datasets that are sampled from a pool."""
        return [name for name, spec in self.datasets.items() if spec.kind == SAMPLED_KIND]

    @property
    def published_tables(self) -> list[str]:
        """Tables of this study that published values are compared with, below its folder."""
        file = self.replication.published
        return tables_of(read_published(file, self.name)) if file else []

    @property
    def annotated(self) -> dict[str, str]:
        """Provenance of the sampled datasets with selection frequencies, by name."""
        return {
            name: f"{self.results}/sampling/{name}/provenance.parquet"
            for name in self.sampled
            if name in self.compared and self.pool_of(name).has_answers
        }

    def pool_of(self, dataset: str) -> PoolSettings:
        """The pool that a dataset is sampled from."""
        return self.pools[self.datasets[dataset].options["pool"]]

    def sampling_json(self, dataset: str) -> str:
        """Settings of a sampled dataset as JSON, for a command line."""
        options = self.datasets[dataset].options
        settings = {k: v for k, v in options.items() if k not in ("pool", "start_from")}
        return json.dumps(settings, sort_keys=True)

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

    def sets_of_pair(self, pair: str) -> dict[str, str]:
        """Names of a pair's sets, by origin."""
        return {o: getattr(self.pairs[pair], o) for o in ("original", "replication")}

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
