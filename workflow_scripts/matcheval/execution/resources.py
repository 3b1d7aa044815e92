"""Resource requests of jobs: memory, time, processor cores and GPUs.

All of these numbers are set here, by model, data and attempt. A profile or the command line
overrides them (`--set-resources train_model:mem_mb=8000`).

Requests are generous where that costs little (unused time is given back to the scheduler) and
close to actual use where it costs much (memory). A job whose request was too small is repeated with
more, and one whose time was over goes on.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from matcheval.execution.sizes import ImageSet, ModelSize

# Resident memory of a job's processes without data: the Snakemake process that the cluster starts
# (and its fork in a group), Python, numpy, and torch if it is used. Measured on the digits study:
# up to 900 MB with torch, 350 MB without, and 170 MB for each Snakemake process.
BASE_MB, BASE_TORCH_MB = 800, 1500
# Host memory of a job on a GPU without data, including the CUDA libraries.
BASE_CUDA_MB = 4000

# Floating-point operations per second that even a slow processor core or GPU reaches.
CORE_FLOPS, GPU_FLOPS = 5e9, 5e12
# Images that one core decodes and resizes per second.
DECODED_PER_SECOND = 150
# Values (pixels times channels) of corrupted images that one core makes per second.
MADE_PER_SECOND = 2e6
# Seconds until a job has imported its modules from a shared file system with cold caches.
START_SECONDS = 120
# Time is requested in whole multiples of this many minutes.
STEP_MINUTES = 10
# Factor by which a job may take longer than estimated.
TIME_MARGIN = 3
# Cores of jobs that decode images in parallel.
MANY_CORES = 4


@dataclass(frozen=True)
class ResourceRequest:
    """The resources that a job requests at its first attempt."""

    mem_mb: int
    runtime: int
    threads: int = 1
    gpu: int = 0

    @classmethod
    def of_work(
        cls, size: float, seconds: float, *, base: int = BASE_MB, threads: int = 1, gpu: int = 0
    ) -> "ResourceRequest":
        """Return the request for data of a size in bytes and work of some seconds, with margins."""
        mem_mb = 100 * math.ceil((base + 1.25 * size / 1e6) / 100)
        minutes = (START_SECONDS + TIME_MARGIN * seconds) / 60
        return cls(mem_mb, STEP_MINUTES * math.ceil(minutes / STEP_MINUTES), threads, gpu)

    def on_attempt(self, attempt: int) -> "ResourceRequest":
        """Return the request of an attempt: up to three times the memory and time of the first."""
        factor = min(attempt, 3)
        return replace(self, mem_mb=self.mem_mb * factor, runtime=self.runtime * factor)


# Jobs that count, or write tables and figures, take seconds to minutes in studies of any size.
SMALL = ResourceRequest(mem_mb=1000, runtime=STEP_MINUTES)
# A gigabyte over a slow connection (2 MB per second); files are not read into memory.
DOWNLOAD = ResourceRequest(BASE_MB, runtime=3 * STEP_MINUTES)
# Tables of all images of a warehouse, which may be as many as CIFAR-10-Warehouse's 608,691.
WAREHOUSE_TABLES = ResourceRequest(5 * BASE_MB, runtime=3 * STEP_MINUTES)
# For estimates before any job: classes of a base that are not known, and features of a model.
MANY_CLASSES, MANY_FEATURES = 1000, 2048


def of_training(
    model: ModelSize,
    data: ImageSet,
    *,
    epochs: float,
    batch_size: int,
    forward_passes: int = 3,
    gpus: int,
    threads: int = 1,
) -> ResourceRequest:
    """Estimate the request for training one model."""
    operations = 2.0 * forward_passes * model.multiply_adds * data.images * epochs
    # Float32 activations, and as much again for their gradients.
    batch = 0 if gpus else 8 * batch_size * model.kept
    memory = 16 * model.parameters + batch + _pixels(data)
    reading = _reading(data) * (1 if data.made else epochs)
    return _of_networks(operations, memory, reading, gpus=gpus, threads=threads)


def of_inference(
    work: Sequence[tuple[ImageSet, Sequence[ModelSize]]],
    largest: ImageSet,
    *,
    batch_size: int,
    gpus: int,
    threads: int = 1,
) -> ResourceRequest:
    """Estimate the request for the predictions of models on datasets."""
    operations = sum(2.0 * model.multiply_adds * data.images for data, ms in work for model in ms)
    # The weights in the files and in the models, and the activations of one model.
    weights = max(sum(8 * model.parameters for model in models) for _, models in work)
    most = max(model.multiply_adds for _, models in work for model in models)
    batch = 0 if gpus else batch_size * most / 80
    memory = weights + batch + (0 if largest.made else _pixels(largest))
    reading = sum(_reading(data) for data, _ in work)
    return _of_networks(operations, memory, reading, gpus=gpus, threads=threads)


def _of_networks(
    operations: float, memory: float, reading: float, *, gpus: int, threads: int
) -> ResourceRequest:
    """Estimate the request for training or running models."""
    speed, base = threads * CORE_FLOPS, BASE_TORCH_MB
    if gpus:
        threads = max(threads, MANY_CORES)
        speed, base = gpus * GPU_FLOPS, BASE_CUDA_MB
    seconds = operations / speed + reading / threads
    return ResourceRequest.of_work(memory, seconds, base=base, threads=threads, gpu=gpus)


def _reading(data: ImageSet) -> float:
    """Seconds in which one core decodes or makes images; arrays take no time."""
    if data.made:
        return data.pixel_bytes / MADE_PER_SECOND
    return data.images / DECODED_PER_SECOND if data.encoded else 0.0


def _pixels(data: ImageSet) -> int:
    """Bytes of images in memory: arrays, and as much again for batches; files are read later."""
    return 0 if data.encoded else 2 * data.pixel_bytes


def of_preparing(data: ImageSet, *, streamed: bool = False) -> ResourceRequest:
    """Estimate the request for preparing a dataset."""
    size = data.pixel_bytes
    if data.encoded:
        size = 0 if streamed else data.images * 150_000
    return ResourceRequest.of_work(2 * size, data.images / 1000, base=BASE_TORCH_MB)


def of_describing(data: ImageSet, n_sets: int) -> ResourceRequest:
    """Estimate the request for describing datasets whose images are made when they are read."""
    return ResourceRequest.of_work(0, n_sets * (0.2 + data.images / 1e5), base=BASE_TORCH_MB)


def of_making(data: ImageSet, *, threads: int) -> ResourceRequest:
    """Estimate the request for making the images of a dataset and storing them."""
    seconds = data.pixel_bytes / MADE_PER_SECOND / threads
    return ResourceRequest.of_work(0, seconds, base=BASE_TORCH_MB, threads=threads)


def of_searching(sets: Sequence[ImageSet], compare_size: int | None) -> ResourceRequest:
    """Estimate the request for searching near duplicates of one set in others, on one core."""
    side = compare_size or max(data.side for data in sets)
    values = side**2 * max(data.channels for data in sets)
    images = sum(data.images for data in sets)
    decoded = sum(data.images for data in sets if data.encoded)
    seconds = 2.0 * sets[0].images * images * values / CORE_FLOPS + decoded / DECODED_PER_SECOND
    return ResourceRequest.of_work(2 * images * values, seconds)


def of_matching(n_models: int, n_seeds: int, images: int) -> ResourceRequest:
    """Estimate the request for matching models' predictions on two sets."""
    seconds = n_models * (n_seeds + 10) * 0.001 * max(1.0, images / 50_000)
    return ResourceRequest.of_work(n_models * images * 16, seconds)


def of_gaps(
    n_models: int, n_matchings: int, images: int, held: int | None = None
) -> ResourceRequest:
    """Estimate the request for decomposing the gaps of models on two sets.

    `held` models are in memory at a time, and two bytes per datapoint of the others; or all models.
    """
    seconds = n_models * (1 + 2 * n_matchings) * 0.5 * max(0.05, images / 50_000)
    size = 160 * n_models if held is None else 160 * held + 2 * n_models
    return ResourceRequest.of_work(size * images, seconds)


def of_reading(n_models: int, n_sets: int, images: int) -> ResourceRequest:
    """Estimate the request for reading the prediction files of models on many sets."""
    return ResourceRequest.of_work(images * (64 + 4 * n_models), n_models * n_sets * 0.05)


def of_resampling(n_models: int, n_sets: int, images: int, n_draws: int) -> ResourceRequest:
    """Estimate the request for drawing the images of sets, with the accuracies of all models."""
    size = images * (64 + 4 * n_models) + n_draws * n_models * 32 * n_sets
    seconds = n_draws * images * (1e-8 + 2 * n_models / CORE_FLOPS)
    return ResourceRequest.of_work(size, n_sets * (0.05 * n_models + seconds))


def of_simulating(n_draws: int, images: int, n_classes: int) -> ResourceRequest:
    """Estimate the request for drawing labels of a set, each time with an interval."""
    return ResourceRequest.of_work(60 * images * n_classes, n_draws * (3e-4 + 1e-7 * images))


def of_scoring(n_sets: int, images: int, n_classes: int, n_features: int) -> ResourceRequest:
    """Estimate the request for the scores of one model on many sets."""
    width = n_classes + n_features
    seconds = n_sets * (0.5 + images * (width + 10) * 2e-6)
    return ResourceRequest.of_work(3 * 20 * images * width, seconds)


def of_members(each: ResourceRequest, n: int) -> ResourceRequest:
    """Estimate the request for many results that one job makes, two at a time."""
    # What is requested for one is mostly the time of a start.
    minutes = SMALL.runtime * (1 + n // 20) + n * (each.runtime - SMALL.runtime)
    return replace(each, runtime=minutes, mem_mb=2 * each.mem_mb, threads=2)


def of_predicting(n_models: int, n_sets: int, n_scores: int) -> ResourceRequest:
    """Estimate the request for tables of accuracies that are predicted from scores."""
    rows = n_models * n_sets * n_scores
    return ResourceRequest.of_work(2000 * rows, 5e-4 * rows)
