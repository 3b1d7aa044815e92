"""The pixel caches and weights that a study needs, determined before any job runs.

Imports no torch, and timm only for models whose description is not on file yet.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from matcheval.inference import INFERENCE_VERSION
from matcheval.inference.settings import InferenceSettings
from matcheval.models.geometry import Geometry
from matcheval.models.published import Published
from matcheval.models.transforms import Transform


@dataclass(frozen=True)
class PixelJob:
    """A pixel cache that a run builds, or does without: caches are off, or one model needs it.

    Attributes
    ----------
    dataset : str
        Name of the dataset.
    geometry : Geometry
        How its images are resized and cropped.
    waiting : tuple of str
        Prediction files that this run computes.
    cached : bool
        Whether they are computed from a cache.
    """

    dataset: str
    geometry: Geometry
    waiting: tuple[str, ...]
    cached: bool

    def file(self, results: str) -> str:
        """Return the path of the cache.

        Parameters
        ----------
        results : str
            The results folder.
        """
        return f"{results}/pixels/{self.dataset}/{self.geometry.name}.npy"


@dataclass(frozen=True)
class InferencePlan:
    """The weights and pixel caches that inference with a study's models needs.

    Attributes
    ----------
    results : str
        The results folder.
    settings : InferenceSettings
        The configuration's `inference`.
    published : mapping of str to Published
        Pretrained models of timm and torchvision, by name.
    """

    results: str
    settings: InferenceSettings
    published: Mapping[str, Published]

    @property
    def weights_urls(self) -> dict[str, str]:
        """Download address of each file of weights, by file name."""
        return {model.file_name: model.url for model in self.published.values()}

    def geometry(self, model: str) -> Geometry:
        """Return how a model's images are resized and cropped.

        Parameters
        ----------
        model : str
            Name of the model.

        Returns
        -------
        Geometry
            `none` if the model takes pixels as stored, and for callables, whose transform is
            unknown until they are loaded.
        """
        if model not in self.published:
            return Geometry()
        return Transform.from_json(self.published[model].transform).geometry

    def manifest(self, model: str, dataset: str, identity: str) -> str | None:
        """Return the path of the manifest that a model reads (see `cache_manifest`).

        Parameters
        ----------
        model, dataset : str
            Names.
        identity : str
            What the dataset is built from, as text; part of the path, so that a dataset built
            from something else has other manifests.

        Returns
        -------
        str or None
            None if the model takes pixels as stored.
        """
        geometry = self.geometry(model)
        if geometry.resize == "none":
            return None
        text = json.dumps([INFERENCE_VERSION, self.settings.deciding, identity], sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        return f"{self.results}/pixels/{dataset}/{geometry.name}.{digest}.json"

    def pixel_jobs(
        self, dataset: str, identity: str, files: Mapping[str, Iterable[str]]
    ) -> dict[str, PixelJob]:
        """Find the manifests of one dataset that this run writes, with their pixel caches.

        A manifest is written if it is missing or older than the dataset, or if one of its models
        lacks a file. No rule writes the other manifests, so that nothing is computed again
        because of them.

        Parameters
        ----------
        dataset, identity : str
            As for `manifest`.
        files : mapping of str to iterable of str
            All files that inference with each model should produce, predictions first, by the
            model's name.

        Returns
        -------
        dict of str to PixelJob
            Jobs by the path of the manifest, in the order of the models.
        """
        models: dict[str, list[str]] = {}
        for model in files:
            manifest = self.manifest(model, dataset, identity)
            if manifest is not None:
                models.setdefault(manifest, []).append(model)
        jobs = {}
        for manifest, names in models.items():
            waiting = names if self._is_outdated(Path(manifest), dataset) else [
                name for name in names if not all(Path(file).exists() for file in files[name])
            ]  # fmt: skip
            if waiting:
                wanted = tuple(next(iter(files[name])) for name in waiting)
                cached = len(wanted) > 1 and self.settings.pixel_cache
                jobs[manifest] = PixelJob(dataset, self.geometry(names[0]), wanted, cached)
        return jobs

    def _is_outdated(self, manifest: Path, dataset: str) -> bool:
        description = Path(self.results, "datasets", dataset, "dataset.json")
        if not manifest.exists() or not description.exists():
            return True
        return manifest.stat().st_mtime_ns < description.stat().st_mtime_ns
