"""What a training takes of a machine, for schedulers. Imports no torch.

Estimates to be generous with, not measurements: a job that asks for too little is killed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matcheval.training.recipe import Recipe

# Of a forward pass on one 32 × 32 image, at a width and depth (of ResNeXt per group): 10⁹
# multiplications, which grow as width² × depth × groups, and 10⁶ values that are kept for the
# backward pass, which grow as width × depth × groups.
_COSTS = {
    "vgg": (0.314, 0.9, 64, 16),
    "resnet_a": (0.041, 0.5, 16, 20),
    "resnet_imagenet": (0.56, 3.0, 64, 18),
    "densenet": (0.3, 10.0, 12, 100),
    "resnext": (0.68, 3.2, 64, 29),
    "preact": (0.041, 0.5, 16, 20),
    "preact_bottleneck": (0.26, 6.4, 16, 164),
    "preact_imagenet": (0.56, 2.0, 64, 18),
    "shake_shake": (0.43, 3.1, 32, 26),
    "pyramidnet": (0.65, 5.7, 84, 110),
    "seresnet_a": (0.041, 0.5, 16, 20),
    "seresnet_imagenet": (0.56, 3.0, 64, 18),
}
_IMAGES = 50_000
_BACKWARD = 3  # passes that a step is worth
_CPU, _GPU = 2e10, 1e12  # multiplications per second and thread, or per GPU, in small batches
_LEAST_MINUTES, _LEAST_MB = 30, 1500


@dataclass(frozen=True)
class Resources:
    """What a job asks for.

    Attributes
    ----------
    threads : int
        CPU threads.
    mem_mb : int
        Main memory, in MB.
    runtime : int
        In minutes.
    gpu : int
        Number of GPUs.
    """

    threads: int
    mem_mb: int
    runtime: int
    gpu: int


def training_resources(recipe: Recipe, settings: Mapping[str, Any]) -> Resources:
    """Estimate what a training takes.

    Parameters
    ----------
    recipe : Recipe
        What is trained.
    settings : mapping
        The configuration's `training`.
    """
    on_gpu = settings["device"] != "cpu"
    speed = _GPU if on_gpu else _CPU * settings["threads"]
    seconds = recipe.epochs * _IMAGES * _BACKWARD * multiplications(recipe) / speed
    # Float32, and as much again for gradients and libraries.
    kept_mb = 0.0 if on_gpu else 8e-6 * recipe.batch_size * kept_values(recipe)
    small = recipe.architecture not in _COSTS
    return Resources(
        threads=settings["threads"],
        mem_mb=_LEAST_MB if small else round(2 * _LEAST_MB + kept_mb),
        runtime=_LEAST_MINUTES + round(seconds / 60),
        gpu=int(on_gpu),
    )


def engine_options(settings: Mapping[str, Any]) -> str:
    """Options of `train_model` for the configuration's `training`, but for the threads."""
    if not settings:
        return ""
    words = ["--device", settings["device"]]
    words += ["--channels-last"] * settings["channels_last"] + ["--compile"] * settings["compile"]
    words += [] if settings["deterministic"] else ["--fast"]
    words += ["--validate-every", str(settings["validate_every"])]
    return " ".join([*words, "--save-minutes", str(settings["save_minutes"])])


def multiplications(recipe: Recipe) -> float:
    """Multiplications of a forward pass on a 32 × 32 image, roughly; 0 for small networks."""
    if recipe.architecture not in _COSTS:
        return 0.0
    billions, _, width, depth = _COSTS[recipe.architecture]
    return 1e9 * billions * (recipe.width / width) ** 2 * recipe.depth / depth * recipe.groups


def kept_values(recipe: Recipe) -> float:
    """Values of a 32 × 32 image that training keeps, roughly; 0 for small networks."""
    if recipe.architecture not in _COSTS:
        return 0.0
    _, millions, width, depth = _COSTS[recipe.architecture]
    return 1e6 * millions * recipe.width / width * recipe.depth / depth * recipe.groups
