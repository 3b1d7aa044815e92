"""Datasets as a configuration has them: where they come from, and which files say what."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matcheval.datasets.requirements import (
    STREAMED_KINDS,
    known_classes,
    own_paths,
    own_state,
    published_names,
)

PREDICTIONS_KIND = "predictions"
SAMPLED_KIND = "sampled"  # from a pool of this study
# Published results: classes without probabilities, or accuracies alone.
LABELS_KIND = "labels"
ARCHIVE_KIND = "label_archive"
ACCURACIES_KIND = "accuracies"
KINDS_WITHOUT_PROBABILITIES = (LABELS_KIND, ARCHIVE_KIND, ACCURACIES_KIND)

SUFFIXES = {
    PREDICTIONS_KIND: (".parquet", ".csv", ".npz"),
    LABELS_KIND: (".json", ".npy"),
    ARCHIVE_KIND: (".npz",),
    ACCURACIES_KIND: (".csv",),
}


@dataclass(frozen=True)
class DatasetSpec:
    """A dataset as the configuration has it.

    Attributes
    ----------
    name, kind : str
        Its name, and where it comes from.
    options : mapping
        What else its kind needs.
    """

    name: str
    kind: str
    options: Mapping[str, Any]

    @property
    def options_json(self) -> str:
        """The options as JSON, for a command line."""
        return json.dumps(self.options, sort_keys=True)

    @property
    def has_images(self) -> bool:
        """Whether there are images, or just what models said of them on file."""
        return self.kind not in SUFFIXES

    @property
    def published_files(self) -> list[str]:
        """Names of the published files that it is built from."""
        return published_names(self.kind, self.options)

    @property
    def own_paths(self) -> dict[str, list[Path]]:
        """Files and folders of the user's own that its images are built from, by option."""
        return own_paths(self.kind, self.options)

    @property
    def own_files_state(self) -> str:
        """What tells the user's own files from changed ones."""
        return own_state(self.kind, self.options)

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Names of its classes by label, if they are known before it is built."""
        return known_classes(self.kind, self.options)

    @property
    def n_classes(self) -> int | None:
        """How many classes it has, if that is known before it is built."""
        given = self.options.get("classes")
        classes = self.classes
        return given if isinstance(given, int) else None if classes is None else len(classes)

    @property
    def preparing_threads(self) -> int:
        """CPU threads that building it can use: images are decoded by several."""
        return 4 if self.kind in STREAMED_KINDS else 1

    @property
    def has_probabilities(self) -> bool:
        """Whether there is a probability to every prediction, as matching needs."""
        return self.kind not in KINDS_WITHOUT_PROBABILITIES

    def own_file(self, model: str) -> str:
        """The user's own file that holds a model's results; of all models, for some kinds."""
        if "file" in self.options:
            return str(self.options["file"])
        name = self.options.get("aliases", {}).get(model, model)
        return str(self.options["files"]).replace("{model}", name)

    def own_files(self, models: Iterable[str]) -> list[str]:
        """All of the user's own files with results of these models, each once: labels last."""
        files = [self.own_file(model) for model in models]
        if self.kind == LABELS_KIND:
            files.append(str(self.options["labels"]))
        return list(dict.fromkeys(files))
