"""Learning rate schedules, as factors of the highest rate. Imports no torch.

To add one, write a function of progress, and add a line to `_FACTORS` and the name to
`SCHEDULES`.
"""

import math
from collections.abc import Callable

_WARM_UP = 0.2  # the part of training in which `warmup_cosine` rises
# Defaults of torch's OneCycleLR, whose shape `onecycle` is: it begins at 1 / 25 and ends at
# 1 / 250,000 of the highest rate.
_ONE_CYCLE_RISE, _ONE_CYCLE_START, _ONE_CYCLE_END = 0.3, 1 / 25, 1 / 25e4


def learning_rate_factor(schedule: str, step: int, steps: int, warmup_steps: int = 0) -> float:
    """Factor of the learning rate at a step of training.

    Parameters
    ----------
    schedule : str
        `constant`: 1.
        `cosine`: from 1 towards 0 along half a cosine (Loshchilov & Hutter 2017, no restart).
        `step`: 1, a tenth from half of training on, a hundredth from three quarters on (He et
        al. 2016, section 4.2).
        `warmup_cosine`: linearly from 0 to 1 in the first fifth, then the cosine towards 0.
        `multistep`: 1, times 0.2 at 30, 60 and 80 % of training (Zagoruyko & Komodakis 2016).
        `onecycle`: along half a cosine from 0.04 to 1 in the first 30 %, then along another one
        to 4e-6 (Smith & Topin 2018, as in torch).
    step, steps : int
        The step from 0, and their number.
    warmup_steps : int
        Steps that rise linearly from 0 to 1 before the schedule, which has the rest.

    Returns
    -------
    float
        In (0, 1]: the schedule is taken at the middle of the step, so no step is wasted.

    Raises
    ------
    KeyError
        If the schedule is unknown; a `Recipe` has checked it.
    """
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
