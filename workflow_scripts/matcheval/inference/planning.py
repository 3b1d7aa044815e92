"""Which pixel caches a study needs, and whose weights: what is to be known before any job.

Imports no torch, and timm only if a model is asked for that it was not asked for before.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matcheval.inference import INFERENCE_VERSION
from matcheval.models.geometry import Geometry
from matcheval.models.published import Published
from matcheval.models.transforms import Transform

# Settings that make all predictions again, which then need pixels again. Further outputs do not.
_DECIDING = ("device", "precision", "compile")


@dataclass(frozen=True)
class PixelJob:
    """A pixel cache that a run makes, or finds to be not worth it.

    Attributes
    ----------
    dataset : str
        Name of the dataset.
    geometry : Geometry
        What happens to its images.
    waiting : tuple of str
        Prediction files that are to be made in this run.
    cached : bool
        Whether they are made from a cache.
    """

    dataset: str
    geometry: Geometry
    waiting: tuple[str, ...]
    cached: bool

    def file(self, results: str) -> str:
        """Where the cache goes."""
        return f"{results}/pixels/{self.dataset}/{self.geometry.name}.npy"


@dataclass(frozen=True)
class InferencePlan:
    """What a study's models need for inference.

    Attributes
    ----------
    results : str
        The results folder.
    settings : mapping
        The configuration's `inference`.
    published : mapping of str to Published
        Pretrained models of timm and torchvision, by name.
    """

    results: str
    settings: Mapping[str, Any]
    published: Mapping[str, Published]

    @property
    def weights_urls(self) -> dict[str, str]:
        """Where weights are downloaded from, by the name of their file."""
        return {model.file_name: model.url for model in self.published.values()}

    def geometry(self, model: str) -> Geometry:
        """What happens to the images of a model; `none` also for callables, which do not say."""
        if model not in self.published:
            return Geometry()
        return Transform.from_json(self.published[model].transform).geometry

    def ticket(self, model: str, dataset: str, identity: str) -> str | None:
        """Where a model's ticket lies (see `tickets`); None if it takes pixels as stored.

        Parameters
        ----------
        model, dataset : str
            Names.
        identity : str
            What the dataset is made of: another one has other tickets.
        """
        geometry = self.geometry(model)
        if geometry.resize == "none":
            return None
        settings = {key: self.settings[key] for key in _DECIDING}
        text = json.dumps([INFERENCE_VERSION, settings, identity], sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        return f"{self.results}/pixels/{dataset}/{geometry.name}.{digest}.json"

    def pixel_jobs(
        self, dataset: str, identity: str, files: Mapping[str, Iterable[str]]
    ) -> dict[str, PixelJob]:
        """Tickets that are to be issued in this run, for one dataset.

        A ticket is to be issued if one of its models has no predictions yet, or it is missing or
        older than the dataset. All others are taken as they lie: no rule makes them, so that
        nothing is made again because of them.

        Parameters
        ----------
        dataset, identity : str
            As for `ticket`.
        files : mapping
            All files that are wanted of each model, predictions first, by name.

        Returns
        -------
        dict
            Jobs by the ticket's path, in the order of the models.
        """
        models: dict[str, list[str]] = {}
        for model in files:
            ticket = self.ticket(model, dataset, identity)
            if ticket is not None:
                models.setdefault(ticket, []).append(model)
        jobs = {}
        for ticket, names in models.items():
            waiting = names if self._is_old(Path(ticket), dataset) else [
                name for name in names if not all(Path(file).exists() for file in files[name])
            ]  # fmt: skip
            if waiting:
                wanted = tuple(next(iter(files[name])) for name in waiting)
                cached = len(wanted) > 1 and bool(self.settings["pixel_cache"])
                jobs[ticket] = PixelJob(dataset, self.geometry(names[0]), wanted, cached)
        return jobs

    def _is_old(self, ticket: Path, dataset: str) -> bool:
        description = Path(self.results, "datasets", dataset, "dataset.json")
        if not ticket.exists() or not description.exists():
            return True
        return ticket.stat().st_mtime_ns < description.stat().st_mtime_ns
