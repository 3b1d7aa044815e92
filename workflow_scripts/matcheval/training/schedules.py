"""Learning rate schedules, as factors of the highest rate. Imports no torch.

To add one, write a function of progress, and add a line to `_FACTORS` and the name to
`SCHEDULES`.
"""

import math
from collections.abc import Callable

_WARM_UP = 0.2  # the part of training in which `warmup_cosine` rises


def learning_rate_factor(schedule: str, step: int, steps: int) -> float:
    """Factor of the learning rate at a step of training.

    Parameters
    ----------
    schedule : str
        `constant`: 1.
        `cosine`: from 1 towards 0 along half a cosine (Loshchilov & Hutter 2017, no restart).
        `step`: 1, a tenth from half of training on, a hundredth from three quarters on.
        `warmup_cosine`: linearly from 0 to 1 in the first fifth, then the cosine towards 0.
    step, steps : int
        The step from 0, and their number.

    Returns
    -------
    float
        In (0, 1]: the schedule is taken at the middle of the step, so no step is wasted.

    Raises
    ------
    KeyError
        If the schedule is unknown; a `Recipe` has checked it.
    """
    return _FACTORS[schedule]((step + 0.5) / steps)


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


_FACTORS: dict[str, Callable[[float], float]] = {
    "constant": _constant,
    "cosine": _cosine,
    "step": _step,
    "warmup_cosine": _warmup_cosine,
}
