"""What people said about the images of a set."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from matcheval.warehouse.boxes import Box, read_boxes
from matcheval.warehouse.decisions import Decision, read_decisions
from matcheval.warehouse.settings import WarehouseSettings
from matcheval.warehouse.source_sets import SourceSet


@dataclass(frozen=True)
class Review:
    """What people said about the images of a set."""

    decisions: Mapping[str, Sequence[Decision]] = field(default_factory=dict)
    boxes: Mapping[str, Sequence[Box]] = field(default_factory=dict)


@dataclass(frozen=True)
class Reviews:
    """What people said, by set and image."""

    decisions: Mapping[str, Mapping[str, list[Decision]]]
    boxes: Mapping[str, Mapping[str, list[Box]]]

    def of(self, set_name: str) -> Review:
        """Return what was said of a set."""
        return Review(self.decisions.get(set_name, {}), self.boxes.get(set_name, {}))

    def state(self, set_name: str) -> list[Any]:
        """Return what was said of a set, as JSON values."""
        review = self.of(set_name)
        return [
            {name: [asdict(one) for one in each] for name, each in part.items()}
            for part in (review.decisions, review.boxes)
        ]


def read_reviews(settings: WarehouseSettings, sets: Mapping[str, SourceSet]) -> Reviews:
    """Read the files of decisions and boxes."""
    decisions = read_decisions(settings.review.decisions or (), settings.class_names, sets)
    return Reviews(decisions, read_boxes(settings.boxes, sets))
