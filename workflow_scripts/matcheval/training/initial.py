"""Initial weights, and the seeds of a training's random numbers."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from matcheval.datasets.dataset import Dataset
from matcheval.models.architectures.parts import scale_dropout
from matcheval.models.building import build_model
from matcheval.models.package_loading import start_from_weights
from matcheval.training.recipe import Recipe
from matcheval.training.seeds import derived_seed


def training_seed(name: str, recipe: Recipe, purpose: str) -> int:
    """Return the seed of one kind of random numbers in a training."""
    return derived_seed(recipe.seeded_by or name, recipe.seed, purpose)


def initial_model(name: str, recipe: Recipe, train_set: Dataset) -> nn.Module:
    """Build a model with its initial weights."""
    with seeded(name, recipe, "weights"):
        model = build_model(
            recipe.architecture,
            width=recipe.width,
            depth=recipe.depth,
            groups=recipe.groups,
            input_shape=train_set.image_shape,
            n_classes=train_set.n_classes,
        )
    scale_dropout(model, recipe.dropout_factor)
    if recipe.pretrained:
        start_from_weights(model, recipe.pretrained, name)
    return model


@contextmanager
def seeded(name: str, recipe: Recipe, purpose: str) -> Iterator[None]:
    """Seed torch's global generator in a block, for initial weights, and restore it afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(training_seed(name, recipe, purpose))
        yield
