"""Learning rate schedules, as factors of the highest learning rate. Does not import torch.

To add a schedule, write a function of the training progress in [0, 1], add it to `_FACTORS`, and
add its name to `training.SCHEDULES`.
"""

import math
from collections.abc import Callable

_WARM_UP = 0.2  # fraction of the training in which `warmup_cosine` rises
# `onecycle` uses the defaults of torch's OneCycleLR: it begins at 1 / 25 of the highest rate, which
# it reaches after 30 % of the training, and ends at 1 / 250,000 of it.
_ONE_CYCLE_RISE, _ONE_CYCLE_START, _ONE_CYCLE_END = 0.3, 1 / 25, 1 / 25e4


def learning_rate_factor(schedule: str, step: int, steps: int, warmup_steps: int = 0) -> float:
    """Compute the factor of the learning rate at a training step."""
    if step < warmup_steps:
        return (step + 0.5) / warmup_steps
    return _FACTORS[schedule]((step - warmup_steps + 0.5) / (steps - warmup_steps))


def _constant(progress: float) -> float:
    return 1.0


def _cosine(progress: float) -> float:
    return (1 + math.cos(math.pi * progress)) / 2


def _step(progress: float) -> float:
    return 1.0 if progress < 0.5 else 0.1 if progress < 0.75 else 0.01


def _warmup_cosine(progress: float) -> float:
    if progress < _WARM_UP:
        return progress / _WARM_UP
    return _cosine((progress - _WARM_UP) / (1 - _WARM_UP))


def _multistep(progress: float) -> float:
    return 0.2 ** sum(progress >= milestone for milestone in (0.3, 0.6, 0.8))


def _onecycle(progress: float) -> float:
    if progress < _ONE_CYCLE_RISE:
        return 1 - (1 - _ONE_CYCLE_START) * _cosine(progress / _ONE_CYCLE_RISE)
    falling = _cosine((progress - _ONE_CYCLE_RISE) / (1 - _ONE_CYCLE_RISE))
    return _ONE_CYCLE_END + (1 - _ONE_CYCLE_END) * falling


_FACTORS: dict[str, Callable[[float], float]] = {
    "constant": _constant,
    "cosine": _cosine,
    "step": _step,
    "warmup_cosine": _warmup_cosine,
    "multistep": _multistep,
    "onecycle": _onecycle,
}
