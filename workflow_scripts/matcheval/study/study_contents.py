"""What a study compares, with which models: its sets, pairs, models and follow-ups, by name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from matcheval.analyses.published_values.values import read_published, tables_of
from matcheval.analyses.retraining.designs import Experiment, Trained
from matcheval.analyses.sampling.settings import PoolSettings
from matcheval.analyses.settings import FollowUps
from matcheval.datasets.derivations import Derivation
from matcheval.datasets.pairs import Pair
from matcheval.datasets.specs import SAMPLED_KIND, DatasetSpec
from matcheval.inference.planning import InferencePlan
from matcheval.protocol.criteria import Criterion
from matcheval.replication.settings import ReplicationSettings
from matcheval.statistics.lines import MIN_MODELS
from matcheval.study.catalogue import Model


@dataclass(frozen=True)
class StudyContents:
    """What a checked study holds; `study.Study` says where it lies.

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

    def pool_of(self, dataset: str) -> PoolSettings:
        """The pool that a dataset is sampled from."""
        return self.pools[self.datasets[dataset].options["pool"]]

    def sampling_json(self, dataset: str) -> str:
        """Settings of a sampled dataset as JSON, for a command line."""
        options = self.datasets[dataset].options
        settings = {k: v for k, v in options.items() if k not in ("pool", "start_from")}
        return json.dumps(settings, sort_keys=True)

    def sets_of_pair(self, pair: str) -> dict[str, str]:
        """Names of a pair's sets, by origin."""
        return {o: getattr(self.pairs[pair], o) for o in ("original", "replication")}
