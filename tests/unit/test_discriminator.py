"""Power of the discriminator: it finds a shift that was put in, and none where there is none."""

import numpy as np
import pytest

from image_sets import dataset
from matcheval.datasets.derived import Derivation, balanced_parts, derive
from matcheval.datasets.prepare import build_dataset
from matcheval.statistics.intervals import clopper_pearson
from matcheval.training.loop import train
from matcheval.training.recipe import Recipe

RECIPE = Recipe(
    architecture="mlp", width=32, depth=1, loss="cross_entropy", loss_parameter=None,
    augmentation="none", schedule="cosine", epochs=12, batch_size=32, learning_rate=0.1,
    weight_decay=0.0005, train_fraction=1, seed=0,
)  # fmt: skip
PER_SET = 240


@pytest.fixture(scope="module")
def halves():
    """Two random halves of one set: nothing tells them apart but chance."""
    digits = build_dataset("known", "digits", {"part": "known"})
    side = balanced_parts(digits, 2, np.random.default_rng(0))
    return [(digits.images[rows], digits.labels[rows]) for rows in (side == 0, side == 1)]


def told_apart(halves, change, seed):
    """The interval of the accuracy with which images of the sets are told apart."""
    (first, labels), (second, other_labels) = halves
    sets = [
        dataset(images, of, name, tuple("0123456789"), 16)
        for name, images, of in (("old", first, labels), ("new", change(second), other_labels))
    ]
    options = {"per_set": PER_SET, "test_fraction": 0.5, "seed": seed}
    learnt, tested = (
        derive(Derivation("origins", ("old", "new"), {**options, "role": role}), sets)
        for role in ("train", "test")
    )
    last = train(f"tells-{seed}", RECIPE, [learnt], tested).history[-1]
    n = len(tested)
    assert n == PER_SET
    return clopper_pearson(round(last.validation_accuracy * n), n)


@pytest.mark.parametrize("seed", range(2))
def test_without_a_shift_the_interval_holds_one_half(halves, seed):
    interval = told_apart(halves, lambda images: images, seed)
    assert interval.low <= 0.5 <= interval.high


@pytest.mark.parametrize(
    "change",
    [lambda images: np.roll(images, 1, axis=2), lambda images: np.minimum(images, 12)],
    ids=["moved by a pixel", "less contrast"],
)
def test_a_shift_is_found(halves, change):
    interval = told_apart(halves, change, seed=0)
    assert interval.low > 0.55
