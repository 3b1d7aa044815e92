"""Simulated workers: answers with a known truth, to exercise what is made of answers.

The answers of the paper's workers were never published. Where there are none, an image is given a
probability that a worker selects it, and workers are coins that fall by it.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.analyses.sampling.schemas import ANSWERS
from matcheval.errors import InputError

ASSIGNMENTS = 10  # workers per task
CANDIDATES, CONTROLS = 42, 3  # images of a task; positive, and as many negative, controls

Floats = npt.NDArray[np.float64]
_STEEPNESS = 3.0  # of the simulated workers: certain of most images, in two minds about some


def lay_out_tasks(
    pool: Mapping[str, Sequence[str]],
    original: Mapping[str, Sequence[str]],
    rng: np.random.Generator,
    *,
    positive_rounds: int = 1,
) -> pd.DataFrame:
    """Divide candidates among tasks, with controls of the original set.

    Parameters
    ----------
    pool, original : mapping
        Names of the images by class; both of the same classes.
    rng : numpy.random.Generator
    positive_rounds : int
        How many times, at least, every original image is shown with its own class: the paper made
        extra rounds until each class had enough annotated images of the original set.

    Returns
    -------
    pandas.DataFrame
        A row per task and image: `task`, `origin`, `image`, `class`. A task is of one class:
        `CANDIDATES` candidates, `CONTROLS` images of the class and as many of another.

    Raises
    ------
    InputError
        If the label spaces differ, or a class of the original set is empty.
    """
    if set(pool) != set(original):
        raise InputError(
            f"classes {sorted(set(pool) ^ set(original))} are in one of pool and original set only",
            remedy="Both must be of one label space",
        )
    empty = [name for name, images in original.items() if not images]
    if empty:
        raise InputError(f"no images of class '{empty[0]}' in the original set for controls")
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


def simulate_answers(
    shown: pd.DataFrame,
    probability: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    assignments: int = ASSIGNMENTS,
    workers: int = 200,
) -> pd.DataFrame:
    """Answer tasks by known probabilities.

    Parameters
    ----------
    shown : pandas.DataFrame
        A row per task and image: `task`, `origin`, `image`, `class`.
    probability : array-like, shape (n_rows,)
        That a worker selects the image.
    rng : numpy.random.Generator
    assignments, workers : int
        Different workers that answer each task, and workers there are.

    Returns
    -------
    pandas.DataFrame
        Columns of `schemas.ANSWERS`, `assignments` rows for each of `shown`.

    Raises
    ------
    InputError
        If a probability is none, or there are fewer workers than assignments.
    """
    chance = np.asarray(probability, np.float64)
    if chance.shape != (len(shown),) or not ((chance >= 0) & (chance <= 1)).all():
        raise InputError(
            "give a number in [0, 1] for every image that is shown", field="probability"
        )
    if not 1 <= assignments <= workers:
        raise InputError(
            f"{assignments} assignments of a task, {workers} workers", field="assignments"
        )
    tasks, inverse = np.unique(shown["task"].to_numpy(str), return_inverse=True)
    # A random first worker and then the next ones: different ones, evenly burdened.
    first = rng.integers(0, workers, len(tasks))[inverse]
    worker = (first[:, None] + np.arange(assignments)) % workers
    selected = rng.random((len(shown), assignments)) < chance[:, None]
    repeated = {
        name: np.repeat(shown[name].to_numpy(object), assignments)
        for name in ("task", "origin", "image", "class")
    }
    names = np.array([f"worker-{i:04d}" for i in range(workers)], dtype=object)
    answers = pd.DataFrame(
        repeated | {"worker": names[worker.ravel()], "selected": selected.ravel()}
    )
    return answers[ANSWERS.names]


def likeness_probabilities(
    images: npt.NDArray[np.uint8], classes: npt.NDArray[np.int64], centres: Floats
) -> Floats:  # fmt: skip
    """Probability that an image is selected for a class, from its pixels.

    A simulated worker knows the mean image of every class. What is much nearer to the mean of the
    class asked about than to any other is selected almost always, what is as near to another half
    of the time. So images of low selection frequency are odd ones, as they are among people.

    Parameters
    ----------
    images : uint8 array, shape (n, ...)
    classes : int64 array, shape (n,)
        The class asked about, of each image.
    centres : float64 array, shape (n_classes, n_values)
        Mean images, of at least two classes.

    Returns
    -------
    float64 array, shape (n,)
    """
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
    """Mean image of every class, shape (n_classes, n_values); an empty class has none (NaN)."""
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
    """The images of a class, in groups for the tasks; each round has every image once."""
    shuffled = ([images[i] for i in rng.permutation(len(images))] for _ in range(rounds))
    return [of[i : i + CONTROLS] for of in shuffled for i in range(0, len(of), CONTROLS)]
