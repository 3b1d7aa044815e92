"""Manifests of pixel caches: where a cache is, and which predictions still need it.

A pixel cache of ImageNet takes gigabytes, and a study of many models has tens of them, so each
should exist only while models need it. Snakemake's `temp()` could do that, but at a price: once
the file is gone, adding a model recreates it, newer than the predictions of all other models that
had it as input, and these are then computed again; switching the cache off changes the inputs of
every model. Models therefore depend on a manifest instead, a small file that is kept: it states
where the cache would be, and which predictions wait for it. A model reads the cache if it exists
and otherwise decodes the images itself, with identical predictions; the last of the waiting models
removes the cache.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from matcheval.datasets.folders import read_description
from matcheval.errors import InputError
from matcheval.inference.pixel_cache import open_pixels, remove_pixels, write_pixels
from matcheval.io.files import atomic_file
from matcheval.models.geometry import Geometry


@dataclass(frozen=True)
class CacheManifest:
    """Where a dataset's pixel cache for one geometry is, and which predictions wait for it.

    Attributes
    ----------
    pixels : str or None
        Path of the cache; None if each model decodes the images itself.
    keep : bool
        Whether the cache is kept permanently.
    waiting : tuple of str
        Prediction files that are computed from it.
    """

    pixels: str | None
    keep: bool
    waiting: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> "CacheManifest":
        """Read a manifest.

        Parameters
        ----------
        path : Path
            The JSON file.

        Raises
        ------
        InputError
            If it is missing or damaged.
        """
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            return cls(values["pixels"], bool(values["keep"]), tuple(values["waiting"]))
        except FileNotFoundError as error:
            raise InputError("no such manifest of a pixel cache", file=path) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"not a readable manifest of a pixel cache ({error})",
                file=path,
                remedy="Delete it and run again",
            ) from error

    @property
    def has_pixels(self) -> bool:
        """Whether the cache exists, intact or not."""
        return self.pixels is not None and Path(self.pixels).exists()

    def remove_unused_cache(self, path: Path) -> None:
        """Remove the cache unless it is kept or still needed; every model calls this at its end.

        Parameters
        ----------
        path : Path
            The manifest's file. Predictions older than it are outdated and still to be replaced.
        """
        if self.keep or self.pixels is None:
            return
        since = path.stat().st_mtime_ns
        files = map(Path, self.waiting)
        if all(file.exists() and file.stat().st_mtime_ns >= since for file in files):
            remove_pixels(self.pixels)


def write_cache_and_manifest(
    dataset_folder: Path,
    geometry: Geometry,
    pixels: Path,
    path: Path,
    *,
    waiting: tuple[str, ...],
    keep: bool,
    n_workers: int,
    progress: bool = False,
) -> None:
    """Write a pixel cache, where it is worthwhile, and its manifest.

    Parameters
    ----------
    dataset_folder : Path
        The prepared dataset.
    geometry : Geometry
        How its images are resized and cropped.
    pixels, path : Path
        Paths of cache and manifest. An intact cache that exists already is used as it is.
    waiting : tuple of str
        Prediction files that will be computed from the cache. Fewer than two do not justify a
        cache: decoding then runs alongside the forward pass.
    keep : bool
        Whether the cache is kept once all of them exist.
    n_workers : int
        Processes that decode, at least 1.
    progress : bool
        Whether to draw a progress bar.

    Raises
    ------
    InputError
        As `pixel_cache.write_pixels`.
    """
    is_written, is_wanted = _is_intact(dataset_folder, geometry, pixels), len(waiting) >= 2
    if is_wanted and not is_written:
        write_pixels(dataset_folder, geometry, pixels, n_workers=n_workers, progress=progress)
    manifest = CacheManifest(str(pixels) if is_wanted or is_written else None, keep, waiting)
    with atomic_file(path) as partial:
        partial.write_text(json.dumps(asdict(manifest)) + "\n", encoding="utf-8")


def _is_intact(dataset_folder: Path, geometry: Geometry, pixels: Path) -> bool:
    try:
        open_pixels(pixels, read_description(dataset_folder)["sha256"], geometry)
    except InputError:  # missing, damaged or stale: it will be rewritten
        return False
    return True
