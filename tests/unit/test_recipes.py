"""Recipes and what they name: schedules, losses, augmentations."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import trainings
from matcheval.errors import InputError
from matcheval.models.architectures.parts import Dropout
from matcheval.training import LOSSES, augmentation, losses
from matcheval.training.algorithm import learning_rate_factor
from matcheval.training.augmentation import augment
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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"architecture": "transformer"}, "'architecture': .*for example linear, mlp"),
        ({"loss_parameter": 2}, "'loss_parameter': .*cross_entropy has no parameter"),
        ({"groups": 2}, "'groups': cnn cannot have 2 groups"),
        ({"warmup_epochs": 3}, "'warmup_epochs': .*less than 3"),
        ({"optimiser": "sgd"}, r"'optimiser': unknown field\. Did you mean 'optimizer'"),
        ({"algorithm": "coral", "options": {"wieght": 2}}, "'options': unknown .* mean 'weight'"),
        ({"augmentation": "basic_ricap", "augmentation_parameter": 0}, r"β is 0\..* more than 0"),
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


def test_dropout_rates_are_scaled_and_stay_below_1():
    recipe = Recipe.from_mapping(RECIPE.to_mapping() | VGG | {"dropout_factor": 1.75})
    model = initial_model("m", recipe, SimpleNamespace(image_shape=(32, 32, 3), n_classes=2))
    assert [one.rate for one in model.modules() if isinstance(one, Dropout)] == [0.875] * 2


# Two datapoints of two classes with probabilities (0.75, 0.25) and (0.5, 0.5), both of class 0.
LOGITS = torch.tensor([[math.log(3.0), 0.0], [0.0, 0.0]], dtype=torch.float64)
HARD = torch.tensor([[1.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
SOFT = torch.tensor([[0.6, 0.4], [0.0, 1.0]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("name", "parameter", "hard", "soft"),
    [
        # -(log 0.75 + log 0.5) / 2; -(0.6 log 0.75 + 0.4 log 0.25 + log 0.5) / 2
        ("cross_entropy", None, 0.4904146, 0.7101374),
        # -(0.25² log 0.75 + 0.5² log 0.5) / 2;
        # -(0.6 · 0.25² log 0.75 + 0.4 · 0.75² log 0.25 + 0.5² log 0.5) / 2
        ("focal", None, 0.0956335, 0.2479956),
        # (2 · 0.25² + 2 · 0.5²) / 2; (2 · 0.15² + 2 · 0.5²) / 2
        ("brier", None, 0.3125, 0.2725),
        # targets 0.95 and 0.05: -(0.95 log 0.75 + 0.05 log 0.25 + log 0.5) / 2;
        # soft 0.59 and 0.41, 0.05 and 0.95: -(0.59 log 0.75 + 0.41 log 0.25 + log 0.5) / 2
        ("label_smoothing", None, 0.5178799, 0.7156302),
        # excess c - r: 0.25, 0.5, kernel exp(-0.25 / 0.4) = 0.5352614;
        # squared (0.0625 + 0.25 + 2 · 0.125 · 0.5352614) / 4, and cross entropy + 4 · root.
        # Soft: excess 0.6 - 0.75 and 0 - 0.5 (of the tie, class 0 is predicted).
        ("mmce", None, 1.8265514, 1.8980586),
        # Both are correct: v = 0.25 / 2 and 0.5 / 2 as in `mmce`; times 2.
        # Soft: correct 0.6 and 0, so v = 0.6 · 0.25 / 0.6 - 0.4 · 0.75 / 1.4 = 0.0357143 and
        # -0.5 / 1.4 = -0.3571429; squared 0.1151719, root 0.3393699.
        ("mmce_weighted", None, 1.1584830, 1.3888768),
        # As `mmce`, without the root: 0.4904146 + 4 · 0.1115789; soft 0.7101374 + 4 · 0.0881973
        ("mmce_mukhoti", 4.0, 0.9367301, 1.0629263),
        # None is incorrect: no term. Soft: v = 0.15 - 0.3 / 1.4² = -0.0030612, the sum of correct
        # masses 0.6 counting as 1, and -0.5 / 1.4² = -0.2551020; squared 0.0659224, root 0.2567536.
        ("mmce_weighted_mukhoti", None, 0.4904146, 1.2236446),
        # -(0.25³ log 0.75 + 0.5³ log 0.5) / 2;
        # -(0.6 · 0.25³ log 0.75 + 0.4 · 0.75³ log 0.25 + 0.5³ log 0.5) / 2
        ("focal_sample_dependent", None, 0.0455692, 0.1616388),
    ],
)
def test_hand_computed_values(name, parameter, hard, soft):
    loss = losses.build_loss(name, parameter)
    assert loss(LOGITS, HARD).item() == pytest.approx(hard, abs=1e-6)
    assert loss(LOGITS, SOFT).item() == pytest.approx(soft, abs=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_extreme_logits_have_finite_losses_and_gradients(name):
    logits = torch.tensor([[200.0, -200.0], [-200.0, 200.0], [0.0, 0.0]], requires_grad=True)
    loss = losses.build_loss(name, None)(logits, torch.tensor([[1.0, 0.0]] * 3))
    loss.backward()
    assert loss.isfinite()
    assert logits.grad.isfinite().all()


def generator(seed=5):
    return torch.Generator().manual_seed(seed)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(["mixup", "basic_mixup", "basic_cutmix", "basic_ricap"]),
    seed=st.integers(0, 2**32), n=st.integers(1, 9), side=st.integers(2, 12),
    parameter=st.sampled_from([0.05, 0.3, 1.0, 4.0]),
)  # fmt: skip
def test_mixing_gives_classes_the_mass_of_their_pixels(name, seed, n, side, parameter):
    """Every pixel of an image is its one-hot label, so the mean pixel is the mixed target."""
    targets = torch.eye(5)[torch.randint(5, (n,), generator=generator(seed))]
    images = targets[:, :, None, None].expand(n, 5, side, side).contiguous()
    with pytest.MonkeyPatch.context() as patch:  # crops add pixels without a class
        patch.setattr(augmentation, "_basic", lambda images, targets, *_: (images, targets))
        parameter = None if name == "mixup" else parameter
        mixed, soft = augment(name, images, targets, generator(seed), parameter)
    assert torch.allclose(soft.sum(dim=1), torch.ones(n), atol=1e-5)
    assert torch.allclose(mixed.mean(dim=(2, 3)), soft, atol=1e-5)
