"""Groups of hyper-parameters of the algorithms, fitted to the recipe of a study."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matcheval.training.options import ALGORITHMS, hyper_parameter_groups, read_options

# What the defaults and ranges of options are meant for: facebookresearch/DomainBed.
_STEPS, _LEARNING_RATE = 5001, 5e-5
_DIGITS = 4  # significant digits of scaled values


@dataclass(frozen=True)
class Group:
    """A group of hyper-parameters of an algorithm."""

    algorithm: str
    number: int
    options: Mapping[str, Any]


def groups_of(
    algorithm: str,
    n: int,
    seed: int,
    given: Mapping[str, Any],
    scale: Mapping[str, float],
) -> tuple[Group, ...]:
    """Return the groups of an algorithm."""
    kind = ALGORITHMS[algorithm]
    read_options(algorithm, "sgd", given)
    most = min(n, 1 + len(kind.groups)) if kind.groups else n
    found: dict[str, Group] = {}
    for number, drawn in enumerate(hyper_parameter_groups(algorithm, most, seed)):
        scaled = {
            name: _scaled(drawn.get(name, kind.model_fields[name].default), scale[name])
            for name in kind.model_fields.keys() & scale.keys()
        }
        options = {**drawn, **scaled, **given}
        different = {
            name: options[name]
            for name, field in kind.model_fields.items()
            if name in options and options[name] != field.default
        }
        found.setdefault(repr(different), Group(algorithm, number, different))
    return tuple(found.values())


def scaling(steps: int, learning_rate: float) -> dict[str, float]:
    """Return the factors that fit options in steps, and learning rates, to a recipe."""
    return {
        "burn_in_steps": steps / _STEPS,
        "late_learning_rate": learning_rate / _LEARNING_RATE,
    }


def _scaled(value: float, factor: float) -> float | int:
    if isinstance(value, int):
        return round(value * factor)
    return float(f"{value * factor:.{_DIGITS}g}")
