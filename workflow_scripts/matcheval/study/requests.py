"""What jobs ask for: memory, time, processor cores and GPUs. All of these numbers are set here.

A rule has a constant; to it, trainings, inference and matching add the time that their work takes,
and jobs that read images the size of these files. A profile or the command line overrides them
(`--set-resources train_model:mem_mb=8000`). They are generous where that costs little: unused time
is given back to a scheduler. A further attempt asks for twice and three times as much.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from matcheval.inference.settings import InferenceSettings
from matcheval.study.rules import Wildcards
from matcheval.study.study import Study
from matcheval.study.work import Work, inference_work, training_work
from matcheval.training.settings import TrainingSettings

MANY_CORES = 4  # of jobs that decode images for a GPU, or run small models side by side
_MATCHING_SECONDS = 0.001  # a run of the protocol on 50,000 datapoints
_START_MINUTES, _TIME_MARGIN, _STEP_MINUTES = 2, 3, 10
_PER_MB = 2.5  # memory for a MB of images: the file, its batches, and a margin


class Request(NamedTuple):
    """Memory in MB, before that of data is added, and least minutes that a rule's jobs ask for."""

    mem_mb: int
    minutes: int = _STEP_MINUTES


_SMALL, _TABLES = Request(1000), Request(2000, 60)
_RULES: Mapping[Request, str] = {
    Request(1000, 60): "download_file download_weights",
    _TABLES: "prepare_made_datasets plan_domain_generalization plot_matching score_agreement "
    "collect_domain_runs",
    Request(4000, 120): "prepare_dataset derive_dataset simulate_annotations count_selections "
    "estimate_gaps predict_accuracy plot_accuracy_prediction read_warehouse_set "
    "hash_warehouse_reference search_warehouse decide_warehouse_set export_warehouse_set "
    "document_warehouse",
    Request(8000, 480): "sample_dataset search_near_duplicates score_accuracy score_domain_models "
    "score_rotation extract_features",
    Request(6000): "train_models predict_models",
    Request(8000): "train_model predict_datasets",
    Request(8000, 120): "predict_dataset predict_tested",
}
_REQUESTS = {rule: request for request, rules in _RULES.items() for rule in rules.split()}
# Rules whose jobs may run on a GPU.
GPU_RULES = (
    "train_model", "predict_datasets", "predict_models", "predict_dataset", "predict_tested",
    "score_rotation", "extract_features",
)  # fmt: skip


@dataclass(frozen=True)
class Requests:
    """Memory, time, threads and GPUs that a study's jobs request, by rule and wildcards."""

    study: Study
    n_gpus: int = 0
    cores: int = 1
    is_local: bool = True
    gpu_partition: str | None = None
    partition: str | None = None
    max_runtime: int | None = None  # minutes

    def resources(self, rule: str, models: Sequence[str] = ()) -> dict[str, Any]:
        """Return a rule's resources for Snakemake; a rule of a single job names its `models`."""
        longest = self.max_runtime or math.inf
        default = _TABLES if rule.removeprefix("tabulate_") in self.study.analyses else _SMALL
        request = _REQUESTS.get(rule, default)

        # The names of these parameters are Snakemake's.
        def mem_mb(wildcards: Wildcards, input: Any, attempt: int) -> int:
            files = _PER_MB * input.size_mb if rule in (*GPU_RULES, "train_models") else 0
            return min(attempt, 3) * 100 * math.ceil((request.mem_mb + files) / 100)

        def runtime(wildcards: Wildcards, attempt: int) -> Any:
            seconds = self._work_seconds(rule, wildcards, models)
            working = _START_MINUTES + _TIME_MARGIN * seconds / 60
            minutes = _STEP_MINUTES * math.ceil(max(request.minutes, working) / _STEP_MINUTES)
            return min(min(attempt, 3) * minutes, longest)

        resources: dict[str, Any] = {"mem_mb": mem_mb, "runtime": runtime}
        if rule in GPU_RULES:
            resources["gpu"] = self._n_gpus(rule)
            if self.gpu_partition is not None:
                places = self.partition, self.gpu_partition
                resources["slurm_partition"] = places[bool(resources["gpu"])]
        return resources

    def threads(self, rule: str, models: Sequence[str] = ()) -> int:
        """Return the threads of a rule that runs networks; `models` as for `resources`."""
        threads, n_gpus = self._machine_settings(rule).threads, self._n_gpus(rule)
        if n_gpus:
            threads = max(threads, MANY_CORES)
        elif rule == "train_models":
            threads *= min(len(models), MANY_CORES)
        elif rule == "predict_models" and self.study.predicting.side_by_side:
            threads = MANY_CORES
        if n_gpus and self.n_gpus and self.is_local:  # an equal share for each GPU
            return min(threads, max(1, self.cores // self.n_gpus))
        return threads

    def _machine_settings(self, rule: str) -> TrainingSettings | InferenceSettings:
        """Return the settings of training or of inference, whichever a rule's jobs do."""
        training = self.study.training if rule.startswith("train") else None
        return training or self.study.inference  # without trainings, these are of no job

    def _n_gpus(self, rule: str) -> int:
        """Return how many GPUs each job of a rule asks for: 0 or 1."""
        device = self._machine_settings(rule).device
        if device == "auto":
            return int(bool(self.n_gpus if self.gpu_partition is None else self.gpu_partition))
        return int(device.startswith("cuda"))

    def _work_seconds(self, rule: str, wildcards: Any, models: Sequence[str]) -> float:
        """Estimate the seconds that a job's work takes; 0 for rules of which none are estimated."""
        study = self.study
        if rule in ("train_model", "train_models"):
            trainings = (training_work(study, model) for model in models or [wildcards.model])
            return sum(self._device_seconds(rule, work) for work in trainings)
        if rule in ("predict_datasets", "predict_models"):
            work = inference_work(study, models or [wildcards.model], study.predicting.sizes)
            return self._device_seconds(rule, work)
        # How often a table of a pair matches a model for each run of the protocol.
        times = getattr(study.analyses.get(rule.removeprefix("tabulate_")), "runs_per_seed", 0)
        if rule == "match_predictions" or times:
            matching: Any = study.analyses["matching"]
            n_models = times * len(study.models) or len(matching.batches[wildcards.batch])
            n_runs = len(matching.seeds) * len(matching.matchings) + 10
            images = max(matching.larger_set_size(wildcards.pair), 50_000) / 50_000
            return n_models * n_runs * _MATCHING_SECONDS * images
        return 0.0

    def _device_seconds(self, rule: str, work: Work) -> float:
        return work.seconds(self._machine_settings(rule).threads, has_gpu=self._n_gpus(rule) > 0)
