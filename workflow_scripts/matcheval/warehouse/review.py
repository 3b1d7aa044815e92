"""What people said about the images of a set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from matcheval.warehouse.boxes import Box
from matcheval.warehouse.decisions import Decision


@dataclass(frozen=True)
class Review:
    """What people said about the images of a set."""

    decisions: Mapping[str, Sequence[Decision]] = field(default_factory=dict)
    boxes: Mapping[str, Sequence[Box]] = field(default_factory=dict)
