"""Power of the discriminator: it finds a shift that was put in, and none where there is none."""

import numpy as np

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


def told_apart(change):
    """The interval of the accuracy with which images of two random halves are told apart."""
    digits = build_dataset("known", "digits", {"part": "known"})
    side = balanced_parts(digits, 2, np.random.default_rng(0))
    halves = [(digits.images[rows], digits.labels[rows]) for rows in (side == 0, side == 1)]
    sets = [
        dataset(alter(images), labels, name, tuple("0123456789"), 16)
        for name, alter, (images, labels) in (
            ("old", np.array, halves[0]),
            ("new", change, halves[1]),
        )
    ]
    options = {"per_set": PER_SET, "test_fraction": 0.5, "seed": 0}
    learnt, tested = (
        derive(Derivation("origins", ("old", "new"), {**options, "role": role}), sets)
        for role in ("train", "test")
    )
    last = train("tells", RECIPE, [learnt], tested).history[-1]
    assert len(tested) == PER_SET
    return clopper_pearson(round(last.validation_accuracy * PER_SET), PER_SET)


def test_a_shift_is_found_and_none_where_there_is_none():
    same, moved = map(told_apart, (np.array, lambda images: np.roll(images, 1, axis=2)))
    assert same.low <= 0.5 <= same.high
    assert moved.low > 0.55
