"""Trainings that keep their best weights, and epochs of a number of steps."""

from dataclasses import replace

import numpy as np
import pytest

from matcheval.datasets.build import build_dataset
from matcheval.datasets.dataset import make_dataset
from matcheval.errors import InputError
from matcheval.training.loop import train
from matcheval.training.recipe import Recipe
from matcheval.training.settings import Engine

RECIPE = Recipe(
    architecture="linear", width=0, depth=0, loss="cross_entropy", loss_parameter=None,
    augmentation="none", schedule="constant", epochs=6, batch_size=8, learning_rate=0.5,
    weight_decay=0.0, train_fraction=1.0, seed=0, optimizer="adam", epoch_steps=3, keep="best",
)  # fmt: skip


def noisy_sets(seed=3):
    rng = np.random.default_rng(seed)
    return [
        make_dataset(
            f"set-{i}", rng.integers(0, 200, (40, 4, 4, 1)).astype(np.uint8), np.arange(40) % 3,
            classes=("a", "b", "c"), max_value=255, source="",
        )
        for i in range(4)
    ]  # fmt: skip


def same(one, other):
    return all(np.array_equal(one.state[key], other.state[key]) for key in one.state)


def test_the_weights_of_the_best_evaluation_are_kept():
    """A training that ends with the best epoch has the same weights."""
    first, second, *validation = noisy_sets()
    run = train("m", RECIPE, [first, second], validation)
    accuracies = [epoch.validation_accuracy for epoch in run.history]
    best = accuracies.index(max(accuracies))
    assert len(accuracies) - 1 - best > 0  # else the last would do, too
    shorter = replace(RECIPE, epochs=best + 1, keep="last")
    assert same(run, train("m", shorter, [first, second], validation))
    assert not same(run, train("m", replace(RECIPE, keep="last"), [first, second], validation))


def test_several_validation_sets_count_the_same():
    first, *validation = noisy_sets()[:3]
    both = train("m", RECIPE, [first], validation).history
    each = [train("m", RECIPE, [first], one).history for one in validation]
    for epoch, one, two in zip(both, *each, strict=True):
        assert epoch.validation_accuracy == pytest.approx(
            (one.validation_accuracy + two.validation_accuracy) / 2
        )


def test_a_killed_training_keeps_the_best_weights_from_before(tmp_path):
    first, second, *validation = noisy_sets()
    whole = train("m", RECIPE, [first, second], validation)

    def kill(history):
        if len(history) == RECIPE.epochs - 1:
            raise KeyboardInterrupt

    path, sets = tmp_path / "m.partial", ([first, second], validation)
    engine = Engine(save_minutes=0)
    with pytest.raises(KeyboardInterrupt):
        train("m", RECIPE, *sets, engine=engine, resume_file=path, on_epoch=kill)
    resumed = train("m", RECIPE, *sets, engine=engine, resume_file=path)
    assert same(whole, resumed)
    assert resumed.history == whole.history


def test_epoch_steps_and_keep_are_checked():
    for field, value in (("epoch_steps", -1), ("keep", "first")):
        with pytest.raises(InputError, match=field):
            replace(RECIPE, **{field: value})


def test_recipes_of_earlier_versions_are_recorded_as_before():
    record = replace(RECIPE, epoch_steps=0, keep="last").to_record()
    assert not {"epoch_steps", "keep"} & set(record)


def test_training_on_the_shift_beats_training_without_it():
    """ERM on both domains: above chance, and above the model that knows plain scans only."""

    def digits(name, part, rows, style=""):
        found = build_dataset(name, "digits", {"part": part, "rows": rows})
        pixels = np.asarray(found.pixels)
        pixels = 16 - pixels if style == "inverted" else pixels
        return make_dataset(
            name, pixels, found.labels, classes=found.classes, max_value=16, source=style
        )

    plain = digits("plain", "train", [0, 300])
    inverted = digits("inverted", "train", [300, 600], "inverted")
    new = digits("new", "new-writers", [0, 200], "inverted")
    recipe = replace(
        RECIPE, architecture="cnn", width=8, depth=2, batch_size=16, learning_rate=3e-3, epochs=1,
        epoch_steps=150, keep="last", normalization="channels",
    )  # fmt: skip
    alone, both = (
        train("m", recipe, sets, new).history[-1].validation_accuracy
        for sets in ([plain], [plain, inverted])
    )
    assert both > 0.5
    assert both > alone + 0.3
