"""What jobs ask a scheduler for: memory, time, processor cores and GPUs.

The one place of these numbers. Rules ask by model, data and attempt; a profile or the command line
overrides them (`--set-resources train_model:mem_mb=8000`); docs/cluster.md shows them in a table.

Requests are generous where that costs little (time, which a scheduler gives back) and close to what
is used where it costs much (memory). A job that asked for too little is run again with twice as
much.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from matcheval.execution.workloads import ImageSet, ModelSize

# Resident memory of a job's processes before any data: the Snakemake that the cluster starts (and
# a fork of it in a group), Python, numpy, and torch where it is used. Measured on the digits study:
# up to 900 MB with torch, 350 MB without, and 170 MB for each Snakemake.
BASE_MB, BASE_TORCH_MB = 800, 1500
# The CUDA libraries' share of the host's memory.
BASE_CUDA_MB = 4000

# Floating-point operations per second that even a slow processor core, or GPU, reaches.
CORE_FLOPS, GPU_FLOPS = 5e9, 5e12
# Images per second that one core decodes and resizes.
DECODED_PER_SECOND = 150
# Seconds from the start of a job to its first image: imports from a cold shared file system.
START_SECONDS = 120
# Time is requested in whole multiples of this many minutes.
STEP_MINUTES = 10
# How much longer than estimated a job may take.
TIME_MARGIN = 3
MANY_CORES = 4


@dataclass(frozen=True)
class ResourceRequest:
    """What a job asks a scheduler for at its first attempt.

    Attributes
    ----------
    mem_mb : int
        Memory in MB.
    runtime : int
        Time in minutes.
    threads : int
        Processor cores.
    gpu : int
        GPUs.
    """

    mem_mb: int
    runtime: int
    threads: int = 1
    gpu: int = 0

    def on_attempt(self, attempt: int) -> "ResourceRequest":
        """Ask for twice the memory and time at every further attempt.

        Parameters
        ----------
        attempt : int
            1 for the first.
        """
        if attempt < 1:
            raise ValueError(f"attempt {attempt} is below 1")
        factor = 2 ** (attempt - 1)
        return replace(self, mem_mb=self.mem_mb * factor, runtime=self.runtime * factor)


def of_training(
    model: ModelSize, data: ImageSet, *, epochs: int, batch_size: int, gpus: int, threads: int = 1
) -> ResourceRequest:
    """Return the request for training one model.

    Weights, gradients, momentum and a copy are held at once, besides the images and a batch's
    intermediate results (on the GPU, if there is one). A step costs three forward passes.

    Parameters
    ----------
    model, data : ModelSize, ImageSet
        What is trained on what.
    epochs, batch_size : int
        As the recipe has it.
    gpus : int
        0 for the CPU.
    threads : int
        Processor cores that the study gives it.
    """
    operations = 3.0 * 2 * model.multiply_adds * data.images * epochs
    weights = 16 * model.parameters
    # Float32, and as much again for gradients.
    batch = 0 if gpus else 8 * batch_size * model.kept
    return _request(operations, data, weights + batch, passes=epochs, gpus=gpus, threads=threads)


def of_inference(
    model: ModelSize, data: ImageSet, *, batch_size: int, gpus: int, threads: int = 1
) -> ResourceRequest:
    """Return the request for one model's predictions on one dataset.

    Parameters
    ----------
    model, data : ModelSize, ImageSet
        What is run on what.
    batch_size : int
        Images at a time.
    gpus : int
        0 for the CPU.
    threads : int
        Processor cores that the study gives it.
    """
    operations = 2.0 * model.multiply_adds * data.images
    weights = 8 * model.parameters  # the file, and the model
    batch = 0 if gpus else batch_size * model.multiply_adds / 80
    return _request(operations, data, weights + batch, passes=1, gpus=gpus, threads=threads)


def _request(
    operations: float, data: ImageSet, memory: float, *, passes: int, gpus: int, threads: int
) -> ResourceRequest:
    """Return the request for running a model, by its operations and the images to decode."""
    speed, base = threads * CORE_FLOPS, BASE_TORCH_MB
    if gpus:
        threads = max(threads, MANY_CORES)
        speed, base = gpus * GPU_FLOPS, BASE_CUDA_MB
    decoding = passes * data.images / (DECODED_PER_SECOND * threads) if data.encoded else 0
    # Encoded images are read as they are wanted; arrays are kept, and once more as a batch.
    pixels = 0 if data.encoded else 2 * data.pixel_bytes
    return ResourceRequest(
        mem_mb=_megabytes(base, memory + pixels),
        runtime=_minutes(operations / speed + decoding),
        threads=threads,
        gpu=gpus,
    )


def of_preparing(data: ImageSet) -> ResourceRequest:
    """Return the request for preparing a dataset.

    All images are in memory twice; a thousand take a second.

    Parameters
    ----------
    data : ImageSet
        The dataset.
    """
    size = data.images * 150_000 if data.encoded else data.pixel_bytes
    return ResourceRequest(_megabytes(BASE_TORCH_MB, 2 * size), _minutes(data.images / 1000))


def of_pixels(data: ImageSet, *, cached: bool = True) -> ResourceRequest:
    """Return the request for building a pixel cache, once for all models.

    Parameters
    ----------
    data : ImageSet
        The dataset.
    cached : bool
        Whether there is to be such a file; else there is next to nothing to do.
    """
    if not cached:
        return SMALL
    seconds = data.images / (DECODED_PER_SECOND * MANY_CORES)
    return ResourceRequest(_megabytes(BASE_MB, MANY_CORES * 300e6), _minutes(seconds), MANY_CORES)


def of_searching(sets: Sequence[ImageSet], compare_size: int | None) -> ResourceRequest:
    """Return the request for searching near duplicates of one set in others, on one core.

    All pairs are compared, pixel by pixel, with pixels held once as they are and once as numbers.

    Parameters
    ----------
    sets : sequence of ImageSet
        At least one; the first is also searched in itself.
    compare_size : int or None
        Side that encoded images are brought to.
    """
    side = compare_size or max(data.side for data in sets)
    values = side**2 * max(data.channels for data in sets)
    images = sum(data.images for data in sets)
    decoded = sum(data.images for data in sets if data.encoded)
    seconds = 2.0 * sets[0].images * images * values / CORE_FLOPS + decoded / DECODED_PER_SECOND
    return ResourceRequest(_megabytes(BASE_MB, 2 * images * values), _minutes(seconds))


def of_matching(n_models: int, n_seeds: int, images: int) -> ResourceRequest:
    """Return the request for matching models' predictions on two sets.

    A run takes a millisecond at 50,000 images and grows about linearly (benchmarks/matching.py);
    reading a prediction file takes about as long as ten runs.
    """
    seconds = n_models * (n_seeds + 10) * 0.001 * max(1.0, images / 50_000)
    return ResourceRequest(_megabytes(BASE_MB, n_models * images * 16), _minutes(seconds))


def of_reading(n_models: int, images: int) -> ResourceRequest:
    """Return the request for reading all models' predictions on a set, for a count or a table."""
    return ResourceRequest(_megabytes(BASE_MB, images * 64), _minutes(n_models * 0.05))


def of_downloading(megabytes: float = 1000) -> ResourceRequest:
    """Return the request for a download over a slow line (2 MB a second).

    Parameters
    ----------
    megabytes : float
        Size of the file, which is not kept in memory.
    """
    return ResourceRequest(BASE_MB, _minutes(megabytes / 2))


# Tables and figures of a study: seconds each, whatever its size.
SMALL = ResourceRequest(mem_mb=1000, runtime=STEP_MINUTES)


def _megabytes(base: int, size: float) -> int:
    """Memory in whole hundreds of MB: a base, and bytes of data with a quarter to spare."""
    return 100 * math.ceil((base + 1.25 * size / 1e6) / 100)


def _minutes(seconds: float) -> int:
    """Time in whole steps: the start, and the work with its margin."""
    minutes = (START_SECONDS + TIME_MARGIN * seconds) / 60
    return STEP_MINUTES * math.ceil(minutes / STEP_MINUTES)
