"""What inference has written already, looked at when a run is planned."""

import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from matcheval.inference.files import output_files
from matcheval.inference.store import read_index

if TYPE_CHECKING:
    from matcheval.study.study import Study

log = logging.getLogger(__name__)


class Predicted:
    """The files and indexes of predictions of a study that exist.

    Parameters
    ----------
    study : Study
    """

    def __init__(self, study: "Study") -> None:
        self._study, self._jobs = study, study.predicting

    def missing(self, batch: str) -> list[tuple[str, str]]:
        """Return the datasets and models of a batch whose results are not complete.

        For estimates before a job: whether files are outdated, only the job can tell.

        Parameters
        ----------
        batch : str
            Name of the batch.
        """
        models = self._jobs.batches[batch]
        return [
            (dataset, model)
            for dataset, files in self._files.items()
            for model in models
            if model in files.incomplete
        ]

    @cached_property
    def _files(self) -> dict[str, "_Files"]:
        """What there is of the results on each dataset, from one look at each folder."""
        return {name: self._look(name, self._jobs.batch_of) for name in self._jobs.collection_of}

    def _look(self, dataset: str, models: Iterable[str]) -> "_Files":
        folder = Path(self._study.predictions_folder, dataset)
        entries = os.scandir(folder) if folder.is_dir() else ()
        times = {entry.name: entry.stat().st_mtime_ns for entry in entries}
        incomplete, newest = set(), {}
        for model in models:
            found = [times.get(name, 0) for name in self._names(model)]
            if all(found):
                newest[model] = max(found)
            else:
                incomplete.add(model)
        return _Files(incomplete, newest)

    def _names(self, model: str) -> list[str]:
        """Names of the files of a model's results."""
        files = output_files("", "", model, self._study.inference.outputs)
        return [file.name for file in files.values()]

    def remove_untrue_indexes(self) -> None:
        """Remove indexes of files that are not there any more, or were replaced since.

        Their jobs have to run again, which Snakemake cannot know, as it does not see these files.
        (Indexes that were written for another configuration are replaced anyway.)
        """
        for index in self._existing_indexes():
            if index.is_asked_for and not index.is_untouched:
                log.info("%s lists predictions that are missing or were replaced", index.path)
                index.path.unlink()

    def _existing_indexes(self) -> Iterator["_Index"]:
        """Yield the indexes of this study that exist."""
        for collection, datasets in self._jobs.collections.items():
            folder = Path(self._jobs.index(collection, "")).parent
            names = {entry.name for entry in os.scandir(folder)} if folder.is_dir() else set()
            files = [self._files[name] for name in datasets]
            for batch, models in self._jobs.batches.items():
                path = Path(self._jobs.index(collection, batch))
                if path.name in names:
                    key = self._jobs.key(collection, batch)
                    yield self._read(path, collection, batch, key, files, models)
        for path in Path(self._jobs.single_index("*", "")).parent.parent.glob("*/*.json"):
            dataset, model = path.parent.name, path.name.removesuffix(".json")
            known = {*self._study.datasets, *self._study.derivations}
            if dataset in known and model in self._study.runnable:
                files = [self._look(dataset, [model])]
                key = self._jobs.single_key(dataset, model)
                yield self._read(path, dataset, "", key, files, [model])

    def _read(
        self, path: Path, collection: str, batch: str, key: str, files: list["_Files"],
        models: Iterable[str],
    ) -> "_Index":  # fmt: skip
        """Read what an index was written for, and compare it with what is there."""
        written, (found, n_top) = path.stat().st_mtime_ns, read_index(path)
        settings = self._study.inference
        has_top = "top" not in settings.outputs or n_top == settings.top
        untouched = has_top and all(
            each.newest.get(model, written + 1) <= written for each in files for model in models
        )
        return _Index(path, collection, batch, written, found == key, untouched)

    @cached_property
    def settled_indexes(self) -> set[str]:
        """Indexes that stay as they are although their job runs, for another dataset.

        Jobs that read them need not be repeated because of that job.
        """
        ready: dict[str, list[str]] = {}
        for index in self._existing_indexes():
            if index.batch and index.is_asked_for and index.is_untouched and self._is_newest(index):
                ready.setdefault(index.batch, []).append(str(index.path))
        return {
            path
            for settled in ready.values()
            if len(settled) < len(self._jobs.collections)
            for path in settled
        }

    def _is_newest(self, index: "_Index") -> bool:
        """Whether an index is newer than the weights and images of its predictions."""
        inputs = [
            *(self._study.weights_file(model) for model in self._jobs.batches[index.batch]),
            *(
                self._study.dataset_files(name)[0]
                for name in self._jobs.collections[index.collection]
            ),
        ]
        return all(
            Path(file).exists() and Path(file).stat().st_mtime_ns <= index.written
            for file in inputs
            if file is not None
        )


@dataclass(frozen=True)
class _Files:
    """Models whose results on a dataset are incomplete, and times of the others' newest files."""

    incomplete: set[str]
    newest: dict[str, int]


@dataclass(frozen=True)
class _Index:
    """An index on the disk.

    `is_asked_for`: it was written for the present configuration; `is_untouched`: all files that it
    lists are there, none newer than the index.
    """

    path: Path
    collection: str
    batch: str
    written: int
    is_asked_for: bool
    is_untouched: bool
