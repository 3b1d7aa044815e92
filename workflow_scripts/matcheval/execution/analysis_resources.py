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
    """Estimate the request for searching near duplicates of one set in others, on one core.

    All pairs of images are compared pixel by pixel; the pixels are in memory twice.

    Parameters
    ----------
    sets : sequence of ImageSet
        Sizes of the sets, at least one; the images of the first are searched in all, including
        itself.
    compare_size : int or None
        Side of the squares that encoded images are resized to, in pixels; None for no resizing.
    """
    side = compare_size or max(data.side for data in sets)
    values = side**2 * max(data.channels for data in sets)
    images = sum(data.images for data in sets)
    decoded = sum(data.images for data in sets if data.encoded)
    seconds = 2.0 * sets[0].images * images * values / CORE_FLOPS + decoded / DECODED_PER_SECOND
    return ResourceRequest(megabytes(BASE_MB, 2 * images * values), minutes(seconds))


def of_matching(n_models: int, n_seeds: int, images: int) -> ResourceRequest:
    """Estimate the request for matching models' predictions on two sets.

    A run takes a millisecond with 50,000 images, and its time grows about linearly with their
    number (benchmarks/matching.py); reading a prediction file takes about as long as ten runs.

    Parameters
    ----------
    n_models : int
        Number of models of the job.
    n_seeds : int
        Number of runs per model.
    images : int
        Number of images of the larger set.
    """
    seconds = n_models * (n_seeds + 10) * 0.001 * max(1.0, images / 50_000)
    return ResourceRequest(megabytes(BASE_MB, n_models * images * 16), minutes(seconds))


def of_gaps(n_models: int, n_matchings: int, images: int) -> ResourceRequest:
    """Estimate the request for decomposing the gaps of models on two sets.

    Resamples of 50,000 and 10,000 datapoints take a third of a second per model, the no-warning
    reference of a matching as long (benchmarks/gaps.py); both grow about linearly.

    Parameters
    ----------
    n_models, n_matchings : int
        Numbers of models and of matchings.
    images : int
        Number of images of the larger set.
    """
    seconds = n_models * (1 + 2 * n_matchings) * 0.5 * max(0.05, images / 50_000)
    return ResourceRequest(megabytes(BASE_MB, n_models * images * 160), minutes(seconds))


def of_reading(n_models: int, n_sets: int, images: int) -> ResourceRequest:
    """Estimate the request for reading the prediction files of models on many sets.

    Parameters
    ----------
    n_models, n_sets : int
        Numbers of models and of sets; two sets are in memory at a time.
    images : int
        Number of images of the largest set.
    """
    memory = images * (64 + 4 * n_models)
    return ResourceRequest(megabytes(BASE_MB, memory), minutes(n_models * n_sets * 0.05))


# For estimates before any job: classes of a base that are not known, and features of a model.
MANY_CLASSES, MANY_FEATURES = 1000, 2048


def of_scoring(n_sets: int, images: int, n_classes: int, n_features: int) -> ResourceRequest:
    """Estimate the request for the scores of one model on many sets.

    The outputs on base, reference and one set are in memory, in float64 and once more for what is
    computed from them. The slowest scores, discriminators, take 0.2 s for 7,000 datapoints with 512
    features (benchmarks/README.md).

    Parameters
    ----------
    n_sets : int
    images : int
        Number of images of the largest set.
    n_classes, n_features : int
        Widths of logits and features; 0 for what is not kept.
    """
    width = n_classes + n_features
    seconds = n_sets * (0.5 + images * (width + 10) * 2e-6)
    return ResourceRequest(megabytes(BASE_MB, 3 * 20 * images * width), minutes(seconds))


def of_predicting(n_models: int, n_sets: int, n_scores: int) -> ResourceRequest:
    """Estimate the request for tables of accuracies that are predicted from scores.

    Parameters
    ----------
    n_models, n_sets, n_scores : int
        Their numbers: a table has a row for each combination, several for some.
    """
    rows = n_models * n_sets * n_scores
    return ResourceRequest(megabytes(BASE_MB, 2000 * rows), minutes(5e-4 * rows))
