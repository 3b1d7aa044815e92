"""What jobs ask for: memory, time, processor cores and GPUs. All of these numbers are set here.

Trainings, inference and matching ask by models and data; the others have constants. A profile or
the command line overrides them (`--set-resources train_model:mem_mb=8000`). Requests are generous
where that costs little: unused time is given back to a scheduler. A job whose request was too small
is repeated with more, and one whose time was over goes on.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

from matcheval.study.rules import Wildcards
from matcheval.study.sizes import (
    CORE_FLOPS,
    LARGE,
    ImageSet,
    ModelSize,
    dataset_size,
    model_size,
    total_sizes,
)
from matcheval.study.study import Study

# Resident memory in MB without data: Snakemake's own process and Python, with torch, with CUDA.
BASE_MB, BASE_TORCH_MB, BASE_CUDA_MB = 800, 1500, 4000
START_SECONDS, TIME_MARGIN, STEP_MINUTES = 120, 3, 10
GPU_FLOPS = 5e12  # per second, that even a slow GPU reaches
# What one core does in a second: images that it decodes, values of images that it makes.
DECODED_PER_SECOND, MADE_PER_SECOND = 150, 2e6
MANY_CORES = 4  # of jobs that decode images, or run small models side by side
_BATCH = 256  # images at a time that an automatic batch size is taken for


@dataclass(frozen=True)
class Request:
    """What a job asks for at its first attempt: MB, minutes, cores and GPUs."""

    mem_mb: int
    runtime: int
    threads: int = 1
    gpu: int = 0

    @classmethod
    def of_work(
        cls, size: float, seconds: float, base: int = BASE_MB, threads: int = 1, gpu: int = 0
    ) -> "Request":
        """Return the request for data of a size in bytes and work of some seconds, with margins."""
        mem_mb = 100 * math.ceil((base + 1.25 * size / 1e6) / 100)
        minutes = (START_SECONDS + TIME_MARGIN * seconds) / 60
        return cls(mem_mb, STEP_MINUTES * math.ceil(minutes / STEP_MINUTES), threads, gpu)


SMALL = Request(1000, STEP_MINUTES)  # seconds, or a minute, in studies of any size
_TABLES, _DATA, _LARGE = Request(2000, 60), Request(4000, 120), Request(8000, 480)
_CONSTANT: Mapping[str, Request] = {
    **dict.fromkeys(("download_file", "download_weights"), Request(BASE_MB, 60)),
    **dict.fromkeys(("prepare_made_datasets", "plan_domain_generalization"), _TABLES),
    **dict.fromkeys(("plot_matching", "score_agreement", "collect_domain_runs"), _TABLES),
    **dict.fromkeys(("prepare_dataset", "derive_dataset", "predict_accuracy"), _DATA),
    **dict.fromkeys(("simulate_annotations", "count_selections", "estimate_gaps"), _DATA),
    **dict.fromkeys(("search_warehouse", "decide_warehouse_set", "document_warehouse"), _DATA),
    **dict.fromkeys(("read_warehouse_set", "hash_warehouse_reference"), _DATA),
    **dict.fromkeys(("export_warehouse_set", "plot_accuracy_prediction"), _DATA),
    **dict.fromkeys(("score_accuracy", "score_domain_models"), _LARGE),
    **dict.fromkeys(("sample_dataset", "search_near_duplicates"), _LARGE),
}
# Rules whose jobs may run on a GPU.
GPU_RULES = (
    "train_model", "predict_datasets", "predict_models", "predict_dataset", "predict_tested",
    "score_rotation", "extract_features",
)  # fmt: skip

Resource = Callable[[Any, int], Any]  # what Snakemake calls with a job's wildcards and attempt


@dataclass(frozen=True)
class Machine:
    """What jobs run on."""

    n_gpus: int = 0
    cores: int = 1
    is_local: bool = True
    gpu_partition: str | None = None
    partition: str | None = None
    max_runtime: int | None = None  # minutes

    def gpus_for(self, device: str) -> int:
        """Return the number of GPUs of a job."""
        if device == "auto":
            return int(bool(self.n_gpus if self.gpu_partition is None else self.gpu_partition))
        return int(device.startswith("cuda"))


class Requests:
    """Resource requests of a study's jobs, by rule and wildcards."""

    def __init__(self, study: Study, machine: Machine) -> None:
        self._study, self._machine = study, machine
        jobs, analyses = study.predicting, study.analyses
        self._matching: Any = analyses["matching"]
        features: Any = analyses["features"]
        prediction: Any = analyses["accuracy_prediction"]
        self._scaled: Mapping[str, Callable[[Any], Request]] = {
            "train_model": lambda w: self._of_training(w.model),
            "train_models": lambda w: self._side_by_side(tuple(map(self._of_training, w.models))),
            "predict_datasets": lambda w: self._of_running((w.model,), tuple(jobs.datasets)),
            "predict_models": lambda w: self._of_running(w.models, tuple(jobs.datasets)),
            "predict_dataset": lambda w: self._of_running((w.model,), (w.dataset,)),
            "predict_tested": lambda w: self._of_running(
                study.tested[w.tested].models, study.tested[w.tested].datasets
            ),
            "score_rotation": lambda w: self._of_running(
                (w.model,), tuple(4 * prediction.rotated_with_base(w.suite))
            ),
            "extract_features": lambda w: self._of_networks(
                [(self._size(features.sets[w.dataset].of), [LARGE])]
            ),
            "match_predictions": lambda w: self._of_matching(
                len(self._matching.batches[w.batch]), w.pair
            ),
        }

    def of(self, rule: str, wildcards: Any) -> Request:
        """Return the request of a job at its first attempt."""
        if rule in self._scaled:
            return self._scaled[rule](wildcards)
        # How often a table of a pair matches a model for each run of the protocol.
        analysis = self._study.analyses.get(rule.removeprefix("tabulate_"))
        if times := getattr(analysis, "runs_per_seed", 0):
            return self._of_matching(times * len(self._study.models), wildcards.pair)
        return _TABLES if analysis else _CONSTANT.get(rule, SMALL)

    def resources(self, rule: str, models: Sequence[str] = ()) -> dict[str, Resource]:
        """Return the resources of a rule; one of a single job has no wildcards, but models."""
        named, machine = SimpleNamespace(models=tuple(models)) if models else None, self._machine
        longest = machine.max_runtime or math.inf

        def of_job(read: Callable[[Request, int], Any]) -> Resource:
            return lambda w, attempt: read(self.of(rule, named or w), min(attempt, 3))

        given = {
            "mem_mb": of_job(lambda asked, times: asked.mem_mb * times),
            "runtime": of_job(lambda asked, times: min(asked.runtime * times, longest)),
        }
        if rule in GPU_RULES:
            given["gpu"] = of_job(lambda asked, _: asked.gpu)
            if machine.gpu_partition is not None:
                places = machine.partition, machine.gpu_partition
                given["slurm_partition"] = of_job(lambda asked, _: places[bool(asked.gpu)])
        return given

    def threads(self, rule: str, models: Sequence[str] = ()) -> Callable[[Wildcards], int]:
        """Return the threads of a rule, as a function of wildcards; `models` as of `resources`."""
        named, machine = SimpleNamespace(models=tuple(models)) if models else None, self._machine

        def threads(wildcards: Wildcards) -> int:
            asked = self.of(rule, named or wildcards)
            shares = asked.gpu and machine.n_gpus and machine.is_local
            most = max(1, machine.cores // machine.n_gpus) if shares else asked.threads
            return min(asked.threads, most)

        return threads

    def _side_by_side(self, each: Sequence[Request]) -> Request:
        n, most = min(len(each), MANY_CORES), max(each, key=lambda one: one.mem_mb)
        return replace(most, mem_mb=n * most.mem_mb, threads=n * most.threads)

    @cache  # noqa: B019 - Snakemake asks for every resource of a job by itself
    def _of_training(self, model: str) -> Request:
        trained, settings = self._study.trained[model], self._study.training
        recipe = trained.recipe
        assert settings is not None, model
        first, *others = map(self._size, trained.train)
        data = replace(first, images=first.images + sum(one.images for one in others))
        batch_size = recipe.batch_size * len(trained.train)
        epochs = recipe.epochs * (recipe.epoch_steps * batch_size / data.images or 1)
        size = model_size(self._study, model, data)
        operations = 2.0 * recipe.typed_options[0].forward_passes * size.multiply_adds * data.images
        gpus = self._machine.gpus_for(settings.device)
        # Float32 activations, and as much again for their gradients.
        memory = 16 * size.parameters + (0 if gpus else 8 * batch_size * size.kept) + _pixels(data)
        reading = _reading(data) * (1 if data.made else epochs)
        return self._of_network(operations * epochs, memory, reading, gpus, settings.threads)

    @cache  # noqa: B019
    def _of_running(self, models: tuple[str, ...], datasets: tuple[str, ...]) -> Request:
        work = [
            (data, [model_size(self._study, name, data) for name in models])
            for data in self._sizes(datasets)
        ]
        asked = self._of_networks(work)
        if len(models) == 1 or not self._study.predicting.are_small:
            return asked
        n = MANY_CORES  # processes
        return replace(asked, threads=n, mem_mb=asked.mem_mb + (n - 1) * BASE_TORCH_MB)

    def _of_networks(self, work: Sequence[tuple[ImageSet, Sequence[ModelSize]]]) -> Request:
        settings = self._study.inference
        gpus = self._machine.gpus_for(settings.device)
        operations = sum(2.0 * m.multiply_adds * data.images for data, ms in work for m in ms)
        batch = settings.batch_size if isinstance(settings.batch_size, int) else _BATCH
        # Weights in files and in models, activations of one model, and images of the largest set.
        memory: float = max(sum(8 * model.parameters for model in models) for _, models in work)
        most = max(model.multiply_adds for _, models in work for model in models)
        memory += (0 if gpus else batch * most / 80) + max(_pixels(data) for data, _ in work)
        reading = sum(_reading(data) for data, _ in work)
        return self._of_network(operations, memory, reading, gpus, settings.threads)

    def _of_network(
        self, operations: float, memory: float, reading: float, gpus: int, threads: int
    ) -> Request:
        speed, base = threads * CORE_FLOPS, BASE_TORCH_MB
        if gpus:
            threads, speed, base = max(threads, MANY_CORES), gpus * GPU_FLOPS, BASE_CUDA_MB
        seconds = operations / speed + reading / threads
        return Request.of_work(memory, seconds, base=base, threads=threads, gpu=gpus)

    def _of_matching(self, n_models: int, pair: str) -> Request:
        images = self._matching.images(pair)
        n_runs = len(self._matching.seeds) * len(self._matching.matchings)
        seconds = n_models * (n_runs + 10) * 0.001 * max(1.0, images / 50_000)
        return Request.of_work(min(n_models, len(self._study.models)) * images * 16, seconds)

    @cache  # noqa: B019
    def _sizes(self, datasets: tuple[str, ...]) -> list[ImageSet]:
        return total_sizes(self._study, datasets)

    @cache  # noqa: B019 - lives as long as the study
    def _size(self, dataset: str) -> ImageSet:
        return dataset_size(self._study, dataset)


def _reading(data: ImageSet) -> float:
    """Seconds in which one core decodes or makes images; arrays take no time."""
    if data.made:
        return data.pixel_bytes / MADE_PER_SECOND
    return data.images / DECODED_PER_SECOND if data.encoded else 0.0


def _pixels(data: ImageSet) -> int:
    """Bytes of images in memory: arrays, and as much again for batches; files are read later."""
    return 0 if data.encoded or data.made else 2 * data.pixel_bytes
