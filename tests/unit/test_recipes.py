import json
from dataclasses import replace

import pytest

from matcheval.errors import InputError
from matcheval.training import SCHEDULES
from matcheval.training.recipe import Recipe
from matcheval.training.schedules import _FACTORS, learning_rate_factor

RECIPE = Recipe(
    architecture="cnn", width=4, depth=1, loss="cross_entropy", loss_parameter=None,
    augmentation="shift", schedule="cosine", epochs=3, batch_size=32, learning_rate=0.05,
    weight_decay=0.0005, train_fraction=0.5, seed=0,
)  # fmt: skip


def test_recipes_come_from_json_and_from_csv():
    values = RECIPE.to_mapping()
    assert Recipe.from_mapping(json.loads(json.dumps(values))) == RECIPE
    texts = {key: "" if value is None else str(value) for key, value in values.items()}
    assert Recipe.from_mapping(texts) == RECIPE
    assert Recipe.from_mapping(texts | {"seed": str(2**60 + 1)}).seed == 2**60 + 1
    assert Recipe.from_mapping(texts | {"epochs": "3.0"}).epochs == 3
    assert Recipe.from_mapping(texts | {"train_fraction": "1"}).train_fraction == 1


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("architecture", "vgg", "Known: linear"),
        ("loss", "hinge", "Known: cross_entropy"),
        ("augmentation", "flip", "Known: none"),
        ("schedule", "", "Known: constant"),
        ("schedule", 3, "Give text"),
        ("width", 0, "is 0. Give at least 1"),
        ("depth", "1.5", "Give a whole number"),
        ("epochs", "many", "Give a whole number"),
        ("epochs", "inf", "Give a whole number"),
        ("epochs", None, "Give a whole number"),
        ("epochs", True, "Give a whole number"),
        ("batch_size", 0, "at least 1"),
        ("learning_rate", 0, "Give above 0"),
        ("learning_rate", "nan", "is nan"),
        ("weight_decay", -1, "at least 0"),
        ("train_fraction", 0, "at most 1"),
        ("train_fraction", 1.1, "at most 1"),
        ("seed", -1, "at least 0"),
        ("loss_parameter", 2, "cross_entropy has none"),
    ],
)
def test_bad_values_are_refused_by_model_and_field(field, value, message):
    with pytest.raises(InputError, match=message) as caught:
        Recipe.from_mapping(RECIPE.to_mapping() | {field: value}, "my-model")
    assert str(caught.value).startswith("my-model: ")
    assert f"'{field}'" in str(caught.value)


def test_loss_parameters_are_checked_against_their_loss():
    assert replace(RECIPE, loss="focal", loss_parameter=0.5).loss_parameter == 0.5
    with pytest.raises(InputError, match="α is 1"):
        replace(RECIPE, loss="label_smoothing", loss_parameter=1.0)
    with pytest.raises(InputError, match="γ is nan"):
        replace(RECIPE, loss="focal", loss_parameter=float("nan"))


def test_missing_and_unknown_fields_are_named():
    values = RECIPE.to_mapping()
    with pytest.raises(InputError, match="'momentum': unknown field"):
        Recipe.from_mapping(values | {"momentum": 0.9})
    del values["seed"]
    with pytest.raises(InputError, match="'seed': missing"):
        Recipe.from_mapping(values)


@pytest.mark.parametrize(
    ("schedule", "factors"),
    [
        ("constant", [1, 1, 1, 1, 1]),
        # Progress 0.1, 0.3, 0.5, 0.7, 0.9.
        ("cosine", [0.9755283, 0.7938926, 0.5, 0.2061074, 0.0244717]),
        ("step", [1, 1, 0.1, 0.1, 0.01]),
        # Half way up, then the cosine at 1/8, 3/8, 5/8, 7/8.
        ("warmup_cosine", [0.5, 0.9619398, 0.6913417, 0.3086583, 0.0380602]),
    ],
)
def test_schedules(schedule, factors):
    found = [learning_rate_factor(schedule, step, 5) for step in range(5)]
    assert found == pytest.approx(factors, abs=1e-7)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("steps", [1, 2, 97])
def test_every_step_moves(schedule, steps):
    assert tuple(_FACTORS) == SCHEDULES
    assert all(0 < learning_rate_factor(schedule, step, steps) <= 1 for step in range(steps))
