"""Datasets as a configuration has them: where they come from, and which files say what."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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
