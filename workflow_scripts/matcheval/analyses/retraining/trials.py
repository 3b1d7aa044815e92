"""Accuracies that an experiment consists of.

Apart from `designs`, so that the script that tabulates them depends on nothing of the study.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Trial:
    """One accuracy of an experiment.

    Attributes
    ----------
    base : str
        The study's model that this is a variant of.
    model, dataset : str
        What is run on what; both perhaps the experiment's own.
    variant : str
        How the model was trained, for a reader; `baseline` for the study's own model.
    train : str
        Name of the set it was trained on.
    values : mapping
        The varied values of a grid; empty otherwise.
    """

    base: str
    model: str
    dataset: str
    variant: str
    train: str
    values: Mapping[str, Any] = field(default_factory=dict)
