"""Simulated workers: annotations with known selection probabilities, to exercise the sampling.

The annotations of the paper's workers were never published. A simulated worker selects an image
with a given probability, independently of all other workers and images.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.analyses.sampling.schemas import ANNOTATIONS
from matcheval.errors import InputError

ASSIGNMENTS = 10  # workers per task
CANDIDATES, CONTROLS = 42, 3  # per task: candidates; positive controls, and as many negative ones

Floats = npt.NDArray[np.float64]
_STEEPNESS = 3.0  # slope of the logistic: workers agree on most images, and disagree on some


def lay_out_tasks(
    pool: Mapping[str, Sequence[str]],
    original: Mapping[str, Sequence[str]],
    rng: np.random.Generator,
    *,
    positive_rounds: int = 1,
) -> pd.DataFrame:
    """Divide candidates among tasks, with images of the original set as controls."""
    if set(pool) != set(original):
        raise InputError(
            f"classes {sorted(set(pool) ^ set(original))} are in only one of pool and original set",
            remedy="Both sets must have the same classes",
        )
    empty = [name for name, images in original.items() if not images]
    if empty:
        raise InputError(f"the original set has no images of class '{empty[0]}' to use as controls")
    names = list(pool)
    rows: list[tuple[str, str, str, str]] = []
    for position, name in enumerate(names):
        others = original[names[(position + 1) % len(names)]]
        candidates = [pool[name][i] for i in rng.permutation(len(pool[name]))]
        shown = _control_groups(original[name], rng, positive_rounds)
        for number in range(max(-(-len(candidates) // CANDIDATES), len(shown))):
            task = f"{name}-{number:05d}"
            of_pool = candidates[number * CANDIDATES : (number + 1) * CANDIDATES]
            negative = rng.choice(len(others), min(CONTROLS, len(others)), replace=False)
            rows += [(task, "pool", image, name) for image in of_pool]
            rows += [(task, "original", image, name) for image in shown[number % len(shown)]]
            if len(names) > 1:
                rows += [(task, "original", others[i], name) for i in negative]
    return pd.DataFrame(rows, columns=["task", "origin", "image", "class"])


def simulate_annotations(
    shown: pd.DataFrame,
    probability: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    assignments: int = ASSIGNMENTS,
    workers: int = 200,
) -> pd.DataFrame:
    """Simulate the annotation of tasks by workers."""
    chance = np.asarray(probability, np.float64)
    if chance.shape != (len(shown),) or not ((chance >= 0) & (chance <= 1)).all():
        raise InputError("give one number in [0, 1] for every image shown", field="probability")
    if not 1 <= assignments <= workers:
        raise InputError(
            f"cannot assign each task to {assignments} of {workers} workers", field="assignments"
        )
    tasks, inverse = np.unique(shown["task"].to_numpy(str), return_inverse=True)
    # A random first worker and those that follow: all different, and with an even workload.
    first = rng.integers(0, workers, len(tasks))[inverse]
    worker = (first[:, None] + np.arange(assignments)) % workers
    selected = rng.random((len(shown), assignments)) < chance[:, None]
    repeated = {
        name: np.repeat(shown[name].to_numpy(object), assignments)
        for name in ("task", "origin", "image", "class")
    }
    names = np.array([f"worker-{i:04d}" for i in range(workers)], dtype=object)
    annotations = pd.DataFrame(
        repeated | {"worker": names[worker.ravel()], "selected": selected.ravel()}
    )
    return annotations[ANNOTATIONS.names]


def likeness_probabilities(
    images: npt.NDArray[np.uint8], classes: npt.NDArray[np.int64], centres: Floats
) -> Floats:  # fmt: skip
    """Compute the probability that a simulated worker selects an image, from its pixels."""
    flat = images.reshape(len(images), -1).astype(np.float64)
    distance = np.sqrt(((flat[:, None, :] - centres[None]) ** 2).sum(axis=2))
    own = np.take_along_axis(distance, classes[:, None], axis=1)[:, 0]
    others = distance.copy()
    np.put_along_axis(others, classes[:, None], np.inf, axis=1)
    margin = (others.min(axis=1) - own) / distance.mean(axis=1)
    scale = np.median(np.abs(margin)) or 1.0
    result: Floats = 1 / (1 + np.exp(-_STEEPNESS * margin / scale))
    return result


def class_centres(
    images: npt.NDArray[np.uint8], labels: npt.NDArray[np.int16], n_classes: int
) -> Floats:  # fmt: skip
    """Compute the mean image of every class."""
    flat = images.reshape(len(images), -1).astype(np.float64)
    sums = np.zeros((n_classes, flat.shape[1]))
    np.add.at(sums, labels.astype(np.int64), flat)
    counts = np.bincount(labels.astype(np.int64), minlength=n_classes).astype(np.float64)
    counts[counts == 0] = np.nan
    centres: Floats = sums / counts[:, None]
    return centres


def _control_groups(
    images: Sequence[str], rng: np.random.Generator, rounds: int
) -> list[list[str]]:  # fmt: skip
    """Split the images of a class into groups, one per task; each round has every image once."""
    shuffled = ([images[i] for i in rng.permutation(len(images))] for _ in range(rounds))
    return [of[i : i + CONTROLS] for of in shuffled for i in range(0, len(of), CONTROLS)]
