import json
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import trainings
from matcheval.errors import InputError
from matcheval.models.architectures.parts import Dropout, scale_dropout
from matcheval.models.sizes import ARCHITECTURES
from matcheval.training import AUGMENTATIONS, LOSSES, NORMALIZATIONS, PRECISIONS, SCHEDULES
from matcheval.training.optimizers import learning_rate_factor
from matcheval.training.options import ALGORITHMS, OPTIMIZERS
from matcheval.training.recipe import Recipe
from matcheval.training.run import initial_model

RECIPE = trainings.recipe(augmentation="shift", epochs=3, train_fraction=0.5)

VGG = {"architecture": "vgg_three_linear", "width": 8, "depth": 11}


def test_recipes_are_read_from_json_and_csv():
    values = RECIPE.to_mapping()
    adam = replace(RECIPE, optimizer="adam", options={"betas": [0.8, 0.9]})
    assert Recipe.from_mapping(adam.to_mapping()) == adam
    assert Recipe.from_mapping(json.loads(json.dumps(values))) == RECIPE
    texts = {key: "" if value is None else str(value) for key, value in values.items()}
    assert Recipe.from_mapping(texts) == RECIPE
    assert Recipe.from_mapping(texts | {"seed": str(2**60 + 1)}).seed == 2**60 + 1
    assert Recipe.from_mapping(texts | {"epochs": "3.0"}).epochs == 3
    assert Recipe.from_mapping(texts | {"train_fraction": "1"}).train_fraction == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"architecture": "transformer"}, "'architecture': .*for example linear, mlp"),
        ({"depth": "1.5"}, "'depth': '1.5' is not a whole number"),
        ({"loss_parameter": 2}, "'loss_parameter': .*cross_entropy has no parameter"),
        ({"augmentation_parameter": 2}, "'augmentation_parameter': .*shift has no parameter"),
        ({"groups": 2}, "'groups': cnn cannot have 2 groups"),
        ({"dropout_factor": 0.5}, "'dropout_factor': .*cnn has no dropout"),
        ({"momentum": 1}, "'momentum': 1 must be below 1"),
        ({"warmup_epochs": 3}, "'warmup_epochs': .*less than 3"),
        ({"optimiser": "sgd"}, r"'optimiser': unknown field\. Did you mean 'optimizer'"),
        ({"pretrained": "no package"}, "'pretrained': 'no package' is not the name of a package"),
        ({"algorithm": "coral", "options": {"wieght": 2}}, "'options': unknown .* mean 'weight'"),
        ({"loss": "focal", "loss_parameter": -1}, r"γ is -1\.0\. Give at least 0$"),
        ({"augmentation": "basic_ricap", "augmentation_parameter": 0}, r"β is 0\..* more than 0"),
        ({"schedule": "warmup_cosine", "warmup_epochs": 1}, "warmup_cosine has a built-in"),
        ({"algorithm": "selfreg", "augmentation": "basic_mixup"}, "is basic_mixup, but algorithm"),
        ({**VGG, "dropout_factor": 2}, r"'dropout_factor': is 2\.0\. Give less than 2"),
    ],
)
def test_invalid_values_are_rejected_with_model_and_field(given, message):
    with pytest.raises(InputError, match=f"my-model: .*{message}"):
        Recipe.from_mapping(RECIPE.to_mapping() | given, "my-model")


def test_new_fields_have_defaults_that_are_left_out():
    """Older catalogues stay valid, and the text of their recipes stays the same."""
    values = RECIPE.to_mapping()
    assert list(values) == [
        "architecture", "width", "depth", "loss", "loss_parameter", "augmentation", "schedule",
        "epochs", "batch_size", "learning_rate", "weight_decay", "train_fraction", "seed",
    ]  # fmt: skip
    given = {"momentum": 0.5, "nesterov": False, "augmentation_parameter": None, "ema_decay": ""}
    added = {"algorithm", "optimizer", "options", "epoch_steps", "keep", "pretrained"}
    assert not added & RECIPE.to_record().keys()  # checkpoints stay the same, too
    assert replace(RECIPE, keep="best").to_record()["keep"] == "best"
    recipe = Recipe.from_mapping(values | given)
    assert (recipe.momentum, recipe.nesterov, recipe.ema_decay) == (0.5, False, 0.0)
    assert recipe.to_mapping() == values | {"momentum": 0.5, "nesterov": False}
    assert not Recipe.from_mapping(values | {"nesterov": "False"}).nesterov


@pytest.mark.parametrize(
    ("schedule", "factors"),
    [
        ("constant", [1, 1, 1, 1, 1]),
        # Progress 0.1, 0.3, 0.5, 0.7, 0.9.
        ("cosine", [0.9755283, 0.7938926, 0.5, 0.2061074, 0.0244717]),
        ("step", [1, 1, 0.1, 0.1, 0.01]),
        # Half of the rise, then the cosine at 1/8, 3/8, 5/8, 7/8.
        ("warmup_cosine", [0.5, 0.9619398, 0.6913417, 0.3086583, 0.0380602]),
        ("multistep", [1, 0.2, 0.2, 0.04, 0.008]),
    ],
)
def test_schedules(schedule, factors):
    found = [learning_rate_factor(schedule, step, 5) for step in range(5)]
    assert found == pytest.approx(factors, abs=1e-7)


def test_one_cycle_equals_torch():
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    # torch evaluates the cycle at the ends of the steps, our schedule at their middles.
    theirs = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=2001)
    rates = []
    for _ in range(2001):
        rates.append(theirs.get_last_lr()[0])
        optimizer.step()
        theirs.step()
    ours = [learning_rate_factor("onecycle", step, 1000) for step in range(1000)]
    assert ours == pytest.approx(rates[1::2], abs=2e-3)


def test_every_column_and_choice_is_documented():
    docs = Path(__file__).parents[2] / "docs"
    pages = [(docs / page).read_text(encoding="utf-8") for page in ("models.md", "settings.md")]
    text = "".join(pages)
    names = [field.name for field in fields(Recipe)]
    choices = (*ARCHITECTURES, *LOSSES, *AUGMENTATIONS, *SCHEDULES, *NORMALIZATIONS, *PRECISIONS)
    kinds = ALGORITHMS | OPTIMIZERS
    options = [name for kind in kinds.values() for name in kind.model_fields]
    assert [name for name in (*names, *choices, *kinds, *options) if f"`{name}`" not in text] == []


def test_dropout_rates_are_scaled_and_stay_below_1():
    recipe = Recipe.from_mapping(RECIPE.to_mapping() | VGG | {"dropout_factor": 1.75})
    model = initial_model("m", recipe, SimpleNamespace(image_shape=(32, 32, 3), n_classes=2))
    assert [one.rate for one in model.modules() if isinstance(one, Dropout)] == [0.875] * 2
    mixed = nn.Sequential(Dropout(0.2), Dropout(0.2, per_image=True))
    scale_dropout(mixed, 0.5)
    assert [one.rate for one in mixed] == [0.1, 0.2]  # stochastic depth stays
