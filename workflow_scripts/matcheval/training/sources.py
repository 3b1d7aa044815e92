"""Checks of the training sets (domains) that an algorithm is given, before any work."""

from collections.abc import Sequence

import numpy as np

from matcheval.datasets.dataset import Dataset
from matcheval.errors import InputError
from matcheval.training.options import check_n_sources
from matcheval.training.recipe import Recipe

_OF_VECTORS = ("none", "noise", "mixup")  # augmentations that need no neighbouring pixels


def check_sources(name: str, recipe: Recipe, train_sets: Sequence[Dataset]) -> None:
    """Check training sets against a recipe."""
    check_n_sources(recipe.algorithm, len(train_sets), name)
    if train_sets[0].has_vectors and recipe.augmentation not in _OF_VECTORS:
        raise InputError(
            f"is {recipe.augmentation}, but {train_sets[0].name} consists of vectors",
            file=name,
            field="augmentation",
            remedy=f"Give {' or '.join(_OF_VECTORS)}",
        )
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
