"""Ranges of options, and the groups of hyper-parameters drawn from them. Does not import torch."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from matcheval.errors import InputError
from matcheval.training.options import ALGORITHMS
from matcheval.training.ranges import Range
from matcheval.training.seeds import derived_seed

_DIGITS = 4  # significant digits of drawn values, so that a person can read a catalogue


def search_space(algorithm: str) -> dict[str, Range]:
    """Return the ranges that the options of an algorithm are drawn from."""
    return {
        name: entry
        for name, field in ALGORITHMS[algorithm].model_fields.items()
        for entry in field.metadata
        if isinstance(entry, Range)
    }


def hyper_parameter_groups(algorithm: str, n: int, seed: int = 0) -> tuple[Mapping[str, Any], ...]:
    """Return groups of an algorithm's options: the defaults, and further ones."""
    kind, ranges = ALGORITHMS[algorithm], search_space(algorithm)
    if kind.groups:
        if n > 1 + len(kind.groups):
            raise InputError(
                f"{n} groups of hyper-parameters, but {algorithm} has {1 + len(kind.groups)}",
                field="groups",
                remedy=f"Give at most {1 + len(kind.groups)}",
            )
        return ({}, *kind.groups)[:n]
    if not ranges:
        return ({},)
    drawn = (
        {
            name: _rounded(range_, derived_seed("hyper-parameters", algorithm, name, group, seed))
            for name, range_ in ranges.items()
        }
        for group in range(1, n)
    )
    return ({}, *drawn)


def _rounded(range_: Range, seed: int) -> float | int:
    value = float(f"{range_.draw(np.random.default_rng(seed)):.{_DIGITS}g}")
    return round(value) if range_.whole else value
