"""Fingerprints of architectures and of the parts of training."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

import trainings
from golden.values import Fingerprint, fingerprint, pixels
from image_sets import dataset
from matcheval.datasets.dataset import Dataset
from matcheval.models.networks import build_model
from matcheval.training.algorithm import learning_rate_factor
from matcheval.training.augmentation import augment
from matcheval.training.loop import train
from matcheval.training.losses import build_loss
from matcheval.training.options import ALGORITHMS
from matcheval.training.recipe import LOSS_PARAMETERS, Recipe


def _batch(n: int, side: int, channels: int = 3) -> torch.Tensor:
    return torch.from_numpy(pixels(n, channels, side, side)).float() / 255


# Smallest members: width, depth, groups, side of the images.
SIZES = {
    "linear": (0, 0, 1, 8), "mlp": (5, 2, 1, 8), "cnn": (4, 2, 1, 8), "resnet": (4, 2, 1, 8),
    "vgg": (4, 11, 1, 32), "resnet_a": (4, 8, 1, 16), "resnet_imagenet": (4, 18, 1, 16),
    "densenet": (4, 16, 1, 16), "resnext": (4, 11, 2, 16), "preact": (4, 8, 1, 16),
    "preact_bottleneck": (4, 11, 1, 16), "preact_imagenet": (4, 18, 1, 16),
    "shake_shake": (4, 8, 1, 16), "pyramidnet": (6, 8, 1, 16), "seresnet_a": (4, 8, 1, 16),
    "seresnet_imagenet": (8, 18, 1, 16), "shufflenet": (48, 50, 2, 16),
    "shufflenet_v2": (8, 51, 1, 16), "densenet_imagenet": (4, 121, 1, 16),
    "resnext_doubling": (4, 11, 2, 16), "preact_unnormed": (4, 18, 1, 16),
    "sepreact_unnormed": (4, 18, 1, 16), "dpn": (12, 26, 4, 16), "efficientnet": (32, 49, 1, 32),
    "googlenet": (12, 29, 1, 16), "mobilenet": (32, 28, 1, 32), "mobilenet_v2": (4, 54, 1, 16),
    "pnasnet_a": (4, 22, 1, 16), "pnasnet_b": (4, 42, 1, 16), "regnet_x": (24, 41, 1, 16),
    "regnet_y": (24, 41, 1, 16), "resnet_b": (4, 8, 1, 16), "repvgg": (3, 23, 1, 16),
    "vgg_three_linear": (4, 11, 1, 32),
    "efficientnet_lite": (32, 50, 1, 32), "resnet_7x7": (4, 18, 1, 32),
}  # fmt: skip


def of_architecture(name: str) -> Fingerprint:
    """Initial weights, logits in evaluation and in training, and gradients."""
    width, depth, groups, side = SIZES[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = build_model(
            name, width=width, depth=depth, groups=groups, input_shape=(side, side, 3), n_classes=5
        )
        # In double precision, as deep networks amplify the last bits that processors differ in.
        model, images = model.double(), _batch(6, side).double()
        weights = torch.cat([p.detach().flatten() for p in model.parameters()])
        evaluated = model.eval()(images).detach()
        logits = model.train()(images)
    # A loss of which the gradient in front of a normalisation is not 0.
    (logits * torch.cos(torch.arange(30.0)).reshape(6, 5)).sum().backward()
    gradients = torch.cat([p.grad.flatten() for p in model.parameters()])
    after = model.eval()(images).detach()  # with the statistics of batch norm after one batch
    return fingerprint(
        [weights, evaluated, logits.detach(), gradients, after],
        [(key, tuple(value.shape)) for key, value in model.state_dict().items()],
    )


def of_loss(name: str) -> Fingerprint:
    """Values and gradients, with the default and another parameter.

    For hard and soft targets, and for logits that are calibrated.
    """
    found: list[Any] = []
    soft = torch.softmax(_batch(1, 8)[0, 0] * 4, dim=1)
    hard = torch.eye(8)[torch.arange(8) * 3 % 8]
    guess = 6 * _batch(1, 8)[0, 1] - 2
    # As certain as the targets of the predicted class, with the other classes in another order.
    calibrated = torch.stack(
        [torch.cat([row.max()[None], row.sort().values[:-1]]) for row in soft]
    ).log()
    sorted_targets = soft.sort(dim=1, descending=True).values
    for targets, given in ((hard, guess), (soft, guess), (sorted_targets, calibrated)):
        for parameter in (None, 0.7) if name in LOSS_PARAMETERS else (None,):
            logits = given.clone().requires_grad_()
            value = build_loss(name, parameter)(logits, targets)
            value.backward()
            found += [value.detach(), logits.grad]
    return fingerprint(found)


def of_augmentation(name: str) -> Fingerprint:
    """Forty batches of six images, with the targets: enough for probabilities to show."""
    batches = [
        augment(name, _batch(6, 12), torch.eye(6), torch.Generator().manual_seed(seed))
        for seed in range(40)
    ]
    return fingerprint(torch.cat(part) for part in zip(*batches, strict=True))


def of_schedule(name: str) -> Fingerprint:
    """Factors of a training of 50 steps, also with a warm-up."""
    return fingerprint(
        [learning_rate_factor(name, step, 50, warm) for step in range(50)] for warm in (0, 7)
    )


def sets() -> tuple[list[Dataset], Dataset]:
    def one(name: str, n: int, skip: int) -> Dataset:
        images = pixels(skip + n, 8, 8, 3)[skip:]
        return dataset(images, np.arange(n) * 7 % 5, name, tuple("abcde"))

    return [one("first", 40, 0), one("second", 14, 40)], one("validation", 20, 60)


_RECIPE = trainings.recipe(
    architecture="linear", width=0, depth=0, augmentation="shift", epochs=3, batch_size=8,
    learning_rate=0.02, weight_decay=0.1, train_fraction=0.8, seed=3, clip_norm=5.0,
    warmup_epochs=0.5,
)  # fmt: skip


def _trained(recipe: Recipe) -> Fingerprint:
    (first, second), validation = sets()
    one = [] if ALGORITHMS[recipe.algorithm].single_source == "refused" else [[first]]
    runs = [train("m", recipe, sets, validation) for sets in (*one, [first, second])]
    return fingerprint(
        array
        for run in runs
        for array in (
            np.concatenate([run.state[key].double().flatten() for key in sorted(run.state)]),
            [(e.learning_rate, e.train_loss, e.validation_loss) for e in run.history],
            run.mean + run.std,
        )
    )


# Options of algorithms: burn-ins that end in twelve steps, and variants.
OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "vrex": ({"burn_in_steps": 5},),
    "fishr": ({"burn_in_steps": 5, "weight": 10.0},),
    "eqrm": tuple(
        {"burn_in_steps": 5, "late_learning_rate": 0.01, "variant": variant}
        for variant in ("bisection", "implicit")
    ),
    "selfreg": ({}, {"variant": "domainbed_compat"}),
    "rcs": ({}, {"variant": "fixed_width"}),
}


def of_algorithm(name: str) -> Fingerprint:
    """Trainings on one and on two sets: order, subset, batches, moving average, history."""
    recipe = replace(
        _RECIPE, architecture="resnet", width=4, depth=1, algorithm=name, ema_decay=0.5,
        normalization="channels",
    )  # fmt: skip
    runs = [_trained(replace(recipe, options=options)) for options in OPTIONS.get(name, ({},))]
    return runs[0] | {"numbers": [each for run in runs for each in run["numbers"]]}


def of_optimizer(name: str) -> Fingerprint:
    """Trainings with the default options and with others."""
    others: dict[str, dict[str, Any]] = {
        "sgd": {"momentum": 0.5, "nesterov": False},
        "adam": {"options": {"betas": [0.7, 0.8], "eps": 1e-3}},
        "adamw": {"options": {"betas": [0.7, 0.8], "eps": 1e-3}},
    }
    default = replace(_RECIPE, optimizer=name)
    one, other = _trained(default), _trained(replace(default, **others[name]))
    return one | {"numbers": one["numbers"] + other["numbers"]}


def of_decay(name: str) -> Fingerprint:
    """Trainings with weight decay on all or some parameters."""
    return _trained(replace(_RECIPE, architecture="mlp", width=4, depth=1, weight_decay_on=name))


def of_training_normalization(name: str) -> Fingerprint:
    """Trainings with a normalisation."""
    return _trained(replace(_RECIPE, normalization=name))
