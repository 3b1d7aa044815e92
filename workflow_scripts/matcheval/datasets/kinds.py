"""The kinds of dataset that a configuration can name, and a dataset as it names it."""

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from matcheval.datasets import custom, published, results, transformed
from matcheval.datasets.kind import REGISTERED, DatasetKind, Decoded
from matcheval.io.files import files_below
from matcheval.names import PREDICTIONS_KIND as PREDICTIONS_KIND

# By name, in the order of the documentation.
KINDS: Mapping[str, type[DatasetKind]] = {
    name: kind
    for module in (published, custom, transformed, results)
    for name, kind in REGISTERED.items()
    if kind.__module__ == module.__name__
}

# Published results: classes without probabilities, or accuracies alone.
LABELS_KIND = "labels"
ARCHIVE_KIND = "label_archive"
ACCURACIES_KIND = "accuracies"

# Threads for decoding or making images that a builder can use.
_DECODING_THREADS = 4


@dataclass(frozen=True)
class DatasetSpec:
    """A dataset as the configuration describes it: name, kind and options."""

    name: str
    kind: str
    options: Mapping[str, Any]

    @property
    def kind_class(self) -> type[DatasetKind]:
        """The class of its kind; for kinds that analyses build, the base class."""
        return KINDS.get(self.kind, DatasetKind)

    @cached_property
    def settings(self) -> DatasetKind:
        """Its options as typed settings; for kinds that analyses build, without any option."""
        chosen = self.options if self.kind in KINDS else {}
        return self.kind_class.model_validate({"kind": self.kind, **chosen})

    @property
    def options_json(self) -> str:
        """The options as JSON, for a command line."""
        return json.dumps(self.options, sort_keys=True)

    @property
    def has_images(self) -> bool:
        """Whether there are images to run models on, or only what models predicted."""
        return self.kind_class.has_images

    @property
    def has_probabilities(self) -> bool:
        """Whether every prediction comes with a probability, as matching needs."""
        return self.kind_class.has_probabilities

    @property
    def custom_files_state(self) -> str:
        """Digest of names, sizes and times of the user's files that the images are built from."""
        digest = hashlib.sha256()
        for path in itertools.chain(*self.settings.custom_paths.values()):
            inside = files_below(path, hidden=True) if path.is_dir() else [path]
            for file in filter(Path.is_file, inside):
                stat = file.stat()
                digest.update(f"{file} {stat.st_size} {stat.st_mtime_ns}\n".encode())
        return digest.hexdigest()[:16]

    @property
    def preparing_threads(self) -> int:
        """CPU threads that building it can use: several if images are decoded, or made."""
        makes = bool(self.settings.sources) and not self.settings.is_made
        return _DECODING_THREADS if issubclass(self.kind_class, Decoded) or makes else 1

    def results_file(self, model: str) -> str:
        """Return the path of the user's file of a model's results, or of the one for all models."""
        if "file" in self.options:
            return str(self.options["file"])
        return str(self.options["files"]).replace("{model}", self.alias(model))

    def alias(self, model: str) -> str:
        """Return the name that a model has in the user's files."""
        return str(self.options.get("aliases", {}).get(model, model))

    def results_files(self, models: Iterable[str]) -> list[str]:
        """Return the user's files of some models' results, each once, then that of true labels."""
        files = [self.results_file(model) for model in models]
        if "files" in self.options and "labels" in self.options:
            files.append(str(self.options["labels"]))
        return list(dict.fromkeys(files))
