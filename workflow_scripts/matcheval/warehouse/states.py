"""What the steps of a build depend on: files of the user's, and what people said; no images."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from matcheval.datasets.kinds import DatasetSpec
from matcheval.warehouse.boxes import Box, read_boxes
from matcheval.warehouse.decisions import Decision, read_decisions
from matcheval.warehouse.review import Review
from matcheval.warehouse.settings import WarehouseSettings
from matcheval.warehouse.source_sets import SourceSet
from matcheval.warehouse.steps import digest_of


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


def reading_state(source: SourceSet, settings: WarehouseSettings) -> str:
    """Return a digest of what reading a set depends on: sizes and times of its files, settings."""
    files = [
        (one.place, stat.st_size, stat.st_mtime_ns)
        for one in source.files()
        if one.file.exists() and (stat := one.file.stat())
    ]
    facts = [asdict(source.facts), [asdict(one.facts) for one in source.listed]]
    return digest_of(source.name, facts, files, settings.decoding.model_dump(mode="json"))


def reference_state(name: str, settings: WarehouseSettings) -> str:
    """Return a digest of what the hashes of a base or training set depend on."""
    block = settings.against[name]
    options = {key: value for key, value in block.items() if key != "kind"}
    return digest_of(block, DatasetSpec(name, block["kind"], options).custom_files_state)
