"""Resource requests of analyses, from numbers of models, sets and images: see `resources`."""

from collections.abc import Sequence

from matcheval.execution.resources import (
    BASE_MB,
    CORE_FLOPS,
    DECODED_PER_SECOND,
    STEP_MINUTES,
    ResourceRequest,
    megabytes,
    minutes,
)
from matcheval.execution.workloads import ImageSet

# Tables of all images of a warehouse, which may be as many as CIFAR-10-Warehouse's 608,691.
WAREHOUSE_TABLES = ResourceRequest(5 * BASE_MB, runtime=3 * STEP_MINUTES)


def of_searching(sets: Sequence[ImageSet], compare_size: int | None) -> ResourceRequest:
    """Estimate the request for searching near duplicates of one set in others, on one core."""
    side = compare_size or max(data.side for data in sets)
    values = side**2 * max(data.channels for data in sets)
    images = sum(data.images for data in sets)
    decoded = sum(data.images for data in sets if data.encoded)
    seconds = 2.0 * sets[0].images * images * values / CORE_FLOPS + decoded / DECODED_PER_SECOND
    return ResourceRequest(megabytes(BASE_MB, 2 * images * values), minutes(seconds))


def of_matching(n_models: int, n_seeds: int, images: int) -> ResourceRequest:
    """Estimate the request for matching models' predictions on two sets."""
    seconds = n_models * (n_seeds + 10) * 0.001 * max(1.0, images / 50_000)
    return ResourceRequest(megabytes(BASE_MB, n_models * images * 16), minutes(seconds))


def of_gaps(n_models: int, n_matchings: int, images: int) -> ResourceRequest:
    """Estimate the request for decomposing the gaps of models on two sets."""
    seconds = n_models * (1 + 2 * n_matchings) * 0.5 * max(0.05, images / 50_000)
    return ResourceRequest(megabytes(BASE_MB, n_models * images * 160), minutes(seconds))


def of_reading(n_models: int, n_sets: int, images: int) -> ResourceRequest:
    """Estimate the request for reading the prediction files of models on many sets."""
    memory = images * (64 + 4 * n_models)
    return ResourceRequest(megabytes(BASE_MB, memory), minutes(n_models * n_sets * 0.05))


# For estimates before any job: classes of a base that are not known, and features of a model.
MANY_CLASSES, MANY_FEATURES = 1000, 2048


def of_scoring(n_sets: int, images: int, n_classes: int, n_features: int) -> ResourceRequest:
    """Estimate the request for the scores of one model on many sets."""
    width = n_classes + n_features
    seconds = n_sets * (0.5 + images * (width + 10) * 2e-6)
    return ResourceRequest(megabytes(BASE_MB, 3 * 20 * images * width), minutes(seconds))


def of_predicting(n_models: int, n_sets: int, n_scores: int) -> ResourceRequest:
    """Estimate the request for tables of accuracies that are predicted from scores."""
    rows = n_models * n_sets * n_scores
    return ResourceRequest(megabytes(BASE_MB, 2000 * rows), minutes(5e-4 * rows))
