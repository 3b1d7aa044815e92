"""Accuracies of training runs on all domains, as rules of model selection take them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Record:
    """Accuracies of one training run at one step."""

    dataset: str
    algorithm: str
    group: str
    trial: int
    held_out: frozenset[str]
    step: int
    accuracies: Mapping[str, float]
    validation: Mapping[str, float]
