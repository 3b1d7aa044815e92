"""The trials that an experiment consists of: which model is tested on which dataset.

Separate from `designs`, so that the script that tabulates trials imports nothing of the study.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Trial:
    """The test of one model on one dataset, which gives one accuracy of an experiment.

    Attributes
    ----------
    base : str
        The study's model that the tested model is a variant of.
    model : str
        The tested model: the study's model itself or a variant.
    dataset : str
        The test set: a dataset of the study or a derived one.
    variant : str
        How the model was trained, in words; `baseline` for the study's model itself.
    train : str
        Name of its training set; several are joined by `+`.
    values : mapping of str to object
        Fields of the recipe that a grid varies, with their values; empty for other kinds.
    """

    base: str
    model: str
    dataset: str
    variant: str
    train: str
    values: Mapping[str, Any] = field(default_factory=dict)
