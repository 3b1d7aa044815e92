"""Checks of the training sets (domains) that an algorithm is given, before any work."""

from collections.abc import Sequence

import numpy as np

from matcheval.datasets.dataset import Dataset
from matcheval.errors import InputError
from matcheval.training.options import ALGORITHMS
from matcheval.training.recipe import Recipe


def equals_erm(algorithm: str, n_sources: int) -> bool:
    """Whether an algorithm has the gradients of ERM, as it has one training set.

    Parameters
    ----------
    algorithm : str
        One of `options.ALGORITHMS`.
    n_sources : int
        Number of training sets.

    Returns
    -------
    bool
        False for ERM itself. An algorithm with a burn-in still begins its optimiser anew after it.
    """
    return n_sources == 1 and ALGORITHMS[algorithm].single_source == "erm"


def check_n_sources(algorithm: str, n_sources: int, name: str) -> None:
    """Check that an algorithm is defined for a number of training sets.

    Parameters
    ----------
    algorithm : str
        One of `options.ALGORITHMS`.
    n_sources : int
        Number of training sets.
    name : str
        The model's name, for the message.

    Raises
    ------
    InputError
        If it needs two and there is one; the message has the reason.
    """
    kind = ALGORITHMS[algorithm]
    if n_sources == 1 and kind.single_source == "refused":
        raise InputError(
            f"{algorithm} needs two training sets and there is one: {kind.refusal}",
            file=name,
            field="algorithm",
            remedy="Name several sets in train, or choose another algorithm",
        )


def check_sources(name: str, recipe: Recipe, train_sets: Sequence[Dataset]) -> None:
    """Check training sets against a recipe.

    Several sets must each have two classes and the images of a batch: with fewer, a step does not
    take as many images of this set as of the others.

    Parameters
    ----------
    name : str
        The model's name, for messages.
    recipe : Recipe
    train_sets : sequence of Dataset
        At least one.

    Raises
    ------
    InputError
        Naming the set and what it lacks.
    """
    check_n_sources(recipe.algorithm, len(train_sets), name)
    if len(train_sets) == 1:
        return
    for each in train_sets:
        n = max(1, round(recipe.train_fraction * len(each)))
        if n < recipe.batch_size:
            raise InputError(
                f"is {recipe.batch_size}, but {each.name} has {n} images to train on",
                file=name,
                field="batch_size",
                remedy=f"Give at most {n}: every step takes a batch of each training set",
            )
        classes = np.unique(each.labels)
        if len(classes) < 2:
            raise InputError(
                f"{each.name} has images of class '{each.classes[classes[0]]}' only",
                file=name,
                field="train",
                remedy="Use training sets with images of at least two classes",
            )
