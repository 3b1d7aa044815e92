"""The trials that an experiment consists of: which model is tested on which dataset.

Separate from `designs`, so that the script that tabulates trials imports nothing of the study.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Trial:
    """The test of one model on one dataset, which gives one accuracy of an experiment."""

    base: str
    model: str
    dataset: str
    variant: str
    train: str
    values: Mapping[str, Any] = field(default_factory=dict)
