"""Resources that the jobs of a study ask for, by rule and wildcards.

The numbers are in `execution.resources`; here they meet the study and the machine.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from matcheval.execution import resources, workloads
from matcheval.execution.resources import ResourceRequest
from matcheval.study.analysis import Wildcards
from matcheval.study.sizes import dataset_size, model_size
from matcheval.study.study import Study

# Images at a time that an automatic batch size is taken for, on a CPU.
_AUTO_BATCH = 64
# Rules whose jobs may run on a GPU.
GPU_RULES = ("train_model", "predict_dataset")

# What Snakemake calls with a job's wildcards and attempt.
Resource = Callable[[Any, int], Any]


@dataclass(frozen=True)
class Machine:
    """What jobs run on.

    Attributes
    ----------
    n_gpus : int
        GPUs that this process sees.
    cores : int
        Processor cores that Snakemake may use.
    is_local : bool
        Whether jobs run here, and not on a cluster.
    gpu_partition : str or None
        Partition of a cluster's jobs with a GPU; None on a machine without partitions, and on a
        cluster without GPUs.
    partition : str or None
        Partition of the other jobs.
    """

    n_gpus: int = 0
    cores: int = 1
    is_local: bool = True
    gpu_partition: str | None = None
    partition: str | None = None

    def gpus_for(self, device: str) -> int:
        """Return the number of GPUs of a job.

        Parameters
        ----------
        device : str
            As configured; `auto` takes a GPU wherever there are some.
        """
        if device == "auto":
            return int(bool(self.n_gpus if self.gpu_partition is None else self.gpu_partition))
        return int(device.startswith("cuda"))


class Requests:
    """Resource requests of a study's jobs.

    Parameters
    ----------
    study : Study
    machine : Machine
    """

    def __init__(self, study: Study, machine: Machine) -> None:
        self._study, self._machine = study, machine
        # Rules that neither this table nor an analysis names are small: seconds in any study.
        self._by_rule: Mapping[str, Callable[[Any], ResourceRequest]] = {
            "download_file": lambda w: resources.of_downloading(),
            "download_weights": lambda w: resources.of_downloading(),
            "prepare_dataset": self._of_preparation,
            "derive_dataset": self._of_preparation,
            "transform_images": self._of_pixel_cache,
            "train_model": self._of_training,
            "predict_dataset": self._of_inference,
            "count_correct": self._of_counting,
        }
        for analysis in study.analyses.values():
            self._by_rule |= analysis.resource_requests

    def of(self, rule: str, wildcards: Wildcards) -> ResourceRequest:
        """Return the request of a job at its first attempt.

        Parameters
        ----------
        rule : str
            Name of its rule.
        wildcards : Wildcards
        """
        return self._by_rule[rule](wildcards) if rule in self._by_rule else resources.SMALL

    def resources(self, rule: str) -> dict[str, Resource | int]:
        """Return the resources of a rule, each a function of wildcards and attempt.

        Parameters
        ----------
        rule : str
            Name of the rule.
        """

        def one(field: str) -> Resource:
            return lambda wildcards, attempt: getattr(
                self.of(rule, wildcards).on_attempt(attempt), field
            )

        given: dict[str, Resource | int] = {name: one(name) for name in ("mem_mb", "runtime")}
        given["turn"] = 1  # jobs that are submitted together run one by one: profiles/slurm
        if rule in GPU_RULES:
            given["gpu"] = one("gpu")
            if self._machine.gpu_partition is not None:
                given["slurm_partition"] = lambda wildcards, attempt: (
                    self._machine.gpu_partition
                    if self.of(rule, wildcards).gpu
                    else self._machine.partition
                )
        return given

    def threads(self, rule: str) -> Callable[[Wildcards], int]:
        """Return the threads of a rule, as a function of wildcards.

        On one machine every GPU has its share of the processor cores, so that all can be busy.

        Parameters
        ----------
        rule : str
            Name of the rule.
        """

        def threads(wildcards: Wildcards) -> int:
            request, machine = self.of(rule, wildcards), self._machine
            if request.gpu and machine.n_gpus and machine.is_local:
                return min(request.threads, max(1, machine.cores // machine.n_gpus))
            return request.threads

        return threads

    def _of_preparation(self, wildcards: Wildcards) -> ResourceRequest:
        return resources.of_preparing(dataset_size(self._study, wildcards.dataset))

    def _of_pixel_cache(self, wildcards: Wildcards) -> ResourceRequest:
        manifest = f"{self._study.results}/pixels/{wildcards.manifest}.json"
        job = self._study.pixel_jobs[manifest]
        return resources.of_pixels(dataset_size(self._study, job.dataset), cached=job.cached)

    def _of_counting(self, wildcards: Wildcards) -> ResourceRequest:
        images = dataset_size(self._study, wildcards.dataset).images
        return resources.of_reading(len(self._study.models), images)

    def _of_training(self, wildcards: Wildcards) -> ResourceRequest:
        trained, settings = self._study.trained[wildcards.model], self._study.training
        recipe = trained.model.recipe
        assert recipe is not None, wildcards.model
        assert settings is not None, wildcards.model
        data = workloads.together(dataset_size(self._study, name) for name in trained.train)
        return resources.of_training(
            model_size(self._study, wildcards.model, data),
            data,
            epochs=recipe.epochs,
            batch_size=recipe.batch_size * len(trained.train),
            gpus=self._machine.gpus_for(settings.device),
            threads=settings.threads,
        )

    def _of_inference(self, wildcards: Wildcards) -> ResourceRequest:
        settings = self._study.inference
        data = dataset_size(self._study, wildcards.dataset)
        batch = settings.batch_size if isinstance(settings.batch_size, int) else _AUTO_BATCH
        return resources.of_inference(
            model_size(self._study, wildcards.model, data),
            data,
            batch_size=batch,
            gpus=self._machine.gpus_for(settings.device),
            threads=settings.threads,
        )
