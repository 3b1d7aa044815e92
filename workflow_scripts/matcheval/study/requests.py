"""Resources that the jobs of a study ask for, by rule and wildcards.

The numbers are in `execution.resources`; here they meet the study and the machine.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

from matcheval.execution import resources, sizes
from matcheval.execution.resources import ResourceRequest
from matcheval.execution.sizes import ImageSet
from matcheval.study.rules import Wildcards
from matcheval.study.sizes import dataset_size, model_size
from matcheval.study.study import Study

# Images at a time that an automatic batch size is taken for, on a CPU.
_AUTO_BATCH = 64
# Rules whose jobs may run on a GPU.
GPU_RULES = (
    "train_model", "predict_datasets", "predict_models", "predict_dataset", "predict_tested",
    "score_rotation", "extract_features",
)  # fmt: skip

# What Snakemake calls with a job's wildcards and attempt.
Resource = Callable[[Any, int], Any]


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

    def partition_for(self, request: ResourceRequest) -> str | None:
        """Return the partition of a cluster in which a job runs."""
        return self.gpu_partition if request.gpu else self.partition


def _named(models: Sequence[str]) -> Any:
    return SimpleNamespace(models=tuple(models)) if models else None


class Requests:
    """Resource requests of a study's jobs."""

    def __init__(self, study: Study, machine: Machine) -> None:
        self._study, self._machine = study, machine
        # Rules that neither this table nor an analysis names are small: seconds in any study.
        self._by_rule: Mapping[str, Callable[[Any], ResourceRequest]] = {
            "download_file": lambda w: resources.DOWNLOAD,
            "download_weights": lambda w: resources.DOWNLOAD,
            "prepare_dataset": lambda w: self._of_preparing(w.dataset),
            "derive_dataset": lambda w: resources.of_preparing(self._size(w.dataset)),
            "prepare_made_datasets": lambda w: self._of_describing(w.batch),
            "train_model": lambda w: self._of_training(w.model),
            "train_models": lambda w: self._of_trainings(w.models),
            "predict_datasets": lambda w: self._of_models((w.model,)),
            "predict_models": lambda w: self._of_models(w.models),
            "predict_dataset": lambda w: self._of_running([w.model], [w.dataset]),
            "predict_tested": lambda w: self._of_running(
                study.tested[w.tested].models, study.tested[w.tested].datasets
            ),
        }
        for analysis in study.analyses.values():
            self._by_rule |= analysis.resource_requests

    def of(self, rule: str, wildcards: Wildcards) -> ResourceRequest:
        """Return the request of a job at its first attempt."""
        return self._by_rule[rule](wildcards) if rule in self._by_rule else resources.SMALL

    def resources(self, rule: str, models: Sequence[str] = ()) -> dict[str, Resource]:
        """Return the resources of a rule, each a function of wildcards and attempt.

        A rule of one job has no wildcards; it runs the given models.
        """

        def of_job(read: Callable[[ResourceRequest], Any]) -> Resource:
            return lambda wildcards, attempt: read(
                self.of(rule, _named(models) or wildcards).on_attempt(attempt)
            )

        longest = self._machine.max_runtime or math.inf
        given: dict[str, Resource] = {
            "mem_mb": of_job(attrgetter("mem_mb")),
            "runtime": of_job(lambda request: min(request.runtime, longest)),
        }
        if rule in GPU_RULES:
            given["gpu"] = of_job(attrgetter("gpu"))
            if self._machine.gpu_partition is not None:
                given["slurm_partition"] = of_job(self._machine.partition_for)
        return given

    def threads(self, rule: str, models: Sequence[str] = ()) -> Callable[[Wildcards], int]:
        """Return the threads of a rule, as a function of wildcards; `models` as of `resources`."""

        def threads(wildcards: Wildcards) -> int:
            request, machine = self.of(rule, _named(models) or wildcards), self._machine
            if request.gpu and machine.n_gpus and machine.is_local:
                return min(request.threads, max(1, machine.cores // machine.n_gpus))
            return request.threads

        return threads

    def _of_preparing(self, dataset: str) -> ResourceRequest:
        spec, size = self._study.datasets[dataset], self._size(dataset)
        if spec.settings.sources:
            return resources.of_making(size, threads=spec.preparing_threads)
        return resources.of_preparing(size, streamed=True)

    def _of_describing(self, batch: str) -> ResourceRequest:
        names = self._study.made_batches[batch]
        largest = max(map(self._size, names), key=lambda one: one.images)
        return resources.of_describing(largest, len(names))

    @cache  # noqa: B019 - Snakemake asks for every resource of a job by itself
    def _of_trainings(self, models: tuple[str, ...]) -> ResourceRequest:
        """Return the request of trainings that run beside each other, with most of the memory."""
        each = list(map(self._of_training, models))
        n = min(len(each), resources.MANY_CORES)
        most = max(each, key=lambda one: one.mem_mb)
        return replace(most, mem_mb=n * most.mem_mb, threads=n * most.threads)

    def _of_training(self, model: str) -> ResourceRequest:
        trained, settings = self._study.trained[model], self._study.training
        recipe = trained.model.recipe
        assert recipe is not None, model
        assert settings is not None, model
        data = sizes.together(map(self._size, trained.train))
        batch_size = recipe.batch_size * len(trained.train)
        images = recipe.epoch_steps * batch_size
        return resources.of_training(
            model_size(self._study, model, data), data,
            epochs=recipe.epochs * (images / data.images if images else 1), batch_size=batch_size,
            forward_passes=recipe.typed_options[0].forward_passes,
            gpus=self._machine.gpus_for(settings.device), threads=settings.threads,
        )  # fmt: skip

    @cache  # noqa: B019 - Snakemake asks for every resource of a job by itself
    def _of_models(self, models: tuple[str, ...]) -> ResourceRequest:
        jobs = self._study.predicting
        request = self._of_running(models, jobs.datasets)
        if len(models) == 1 or not jobs.are_small:
            return request
        n = resources.MANY_CORES  # processes
        base = resources.BASE_TORCH_MB
        return replace(request, threads=n, mem_mb=request.mem_mb + (n - 1) * base)

    def _of_running(self, names: Sequence[str], datasets: Sequence[str]) -> ResourceRequest:
        """Return the request of models that run on datasets, in one job."""
        settings = self._study.inference
        images = Counter[ImageSet]()  # by shape and kind
        for dataset in datasets:
            data = self._size(dataset)
            images[replace(data, images=1)] += data.images
        work = [
            (replace(data, images=n), [model_size(self._study, name, data) for name in names])
            for data, n in images.items()
        ]
        largest = max(map(self._size, datasets), key=lambda one: one.pixel_bytes)
        return resources.of_inference(
            work, largest,
            batch_size=settings.batch_size if isinstance(settings.batch_size, int) else _AUTO_BATCH,
            gpus=self._machine.gpus_for(settings.device), threads=settings.threads,
        )  # fmt: skip

    @cache  # noqa: B019 - lives as long as the study
    def _size(self, dataset: str) -> ImageSet:
        return dataset_size(self._study, dataset)
