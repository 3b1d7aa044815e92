"""Pixel caches: a dataset decoded, resized and cropped once for all models with that geometry.

A cache is an `.npy` file, uint8 (n, height, width, 3), and a description beside it (`.json`) with
its dataset, its geometry and a checksum per block of images. Each block is checked when it is first
read, so that damage is detected without a second pass over the file.
"""

import errno
import json
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from matcheval.datasets.dataset import Dataset
from matcheval.datasets.folders import read_dataset
from matcheval.datasets.images import release
from matcheval.errors import InputError
from matcheval.inference.readers import decode
from matcheval.io.files import atomic_file
from matcheval.models.geometry import Geometry

BLOCK = 64  # images per checksum; ten megabytes at 224 × 224
_REMEDY = "Delete it and its .json file: the workflow rebuilds it, or does without it"


@dataclass(frozen=True, eq=False)
class PixelCache:
    """An open pixel cache; it is a `readers.Reader`.

    Attributes
    ----------
    path : Path
        The `.npy` file.
    pixels : uint8 array, shape (n, height, width, 3)
        Memory-mapped from the file.
    checksums : tuple of int
        CRC-32 of each block of `BLOCK` images.
    """

    path: Path
    pixels: npt.NDArray[np.uint8]
    checksums: tuple[int, ...]
    _checked: set[int] = field(default_factory=set)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels."""
        height, width, channels = self.pixels.shape[1:]
        return height, width, channels

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Copy images start..stop - 1 into `out` and check their blocks.

        Parameters
        ----------
        start, stop : int
            Indices in the dataset, 0 <= start < stop <= number of images.
        out : uint8 array, shape (stop - start, height, width, 3)
            Overwritten.

        Raises
        ------
        InputError
            If the checksum of a block differs from the one that was written.
        """
        for block in range(start // BLOCK, (stop - 1) // BLOCK + 1):
            if block not in self._checked:
                rows = self.pixels[block * BLOCK : (block + 1) * BLOCK]
                if zlib.crc32(rows.data) != self.checksums[block]:
                    raise InputError(
                        f"images {block * BLOCK} to {block * BLOCK + len(rows) - 1} are damaged",
                        file=self.path,
                        remedy=_REMEDY,
                    )
                self._checked.add(block)
        np.copyto(out, self.pixels[start:stop])
        release(self.pixels)


def write_pixels(
    dataset_folder: str | os.PathLike[str],
    geometry: Geometry,
    path: str | os.PathLike[str],
    *,
    n_workers: int = 1,
    progress: bool = False,
) -> None:
    """Decode, resize and crop every image of a dataset into a pixel cache.

    Parameters
    ----------
    dataset_folder : path-like
        The prepared dataset.
    geometry : Geometry
        How the images are resized and cropped; not `none`.
    path : path-like
        The `.npy` file to write, atomically; its description is written after it.
    n_workers : int
        Processes that write into the file in parallel, at least 1.
    progress : bool
        Whether to draw a progress bar.

    Raises
    ------
    InputError
        If an image cannot be decoded (the message names it), the disk is too full, the dataset
        is missing or damaged, or a worker process is killed.
    """
    dataset = read_dataset(dataset_folder)
    path = Path(path)
    path.with_suffix(".json").unlink(missing_ok=True)
    shape = (len(dataset), *geometry.crop, 3)
    starts = range(0, len(dataset), BLOCK)
    with atomic_file(path) as partial:
        _allocate(partial, shape)
        bar = tqdm(total=len(starts), desc=f"{geometry.name} of {dataset.name}", unit="block",
                   disable=not progress)  # fmt: skip
        with bar, _workers(n_workers, (str(dataset_folder), partial, geometry)) as run:
            checksums = []
            for checksum in run(starts):
                checksums.append(checksum)
                bar.update()
    description = {
        "dataset": dataset.name,
        "dataset_sha256": dataset.sha256,
        "geometry": geometry.to_mapping(),
        "shape": shape,
        "block": BLOCK,
        "crc32": checksums,
    }
    with atomic_file(path.with_suffix(".json")) as partial:
        partial.write_text(json.dumps(description) + "\n", encoding="utf-8")


def open_pixels(
    path: str | os.PathLike[str], dataset_sha256: str, geometry: Geometry
) -> PixelCache:
    """Open a pixel cache for a dataset and geometry.

    Parameters
    ----------
    path : path-like
        The `.npy` file.
    dataset_sha256 : str
        Digest of the dataset whose pixels the cache must hold.
    geometry : Geometry
        How they must have been resized and cropped.

    Raises
    ------
    InputError
        If it is missing, unreadable, inconsistent with its description, or stale: of other
        images or another geometry.
    """
    path = Path(path)
    try:
        description: dict[str, Any] = json.loads(path.with_suffix(".json").read_text("utf-8"))
        pixels = np.load(path, mmap_mode="r", allow_pickle=False)
        checksums = tuple(map(int, description["crc32"]))
        shape, found = tuple(description["shape"]), description["dataset_sha256"]
        kept = Geometry.from_mapping(description["geometry"])
        block = description["block"]
    except FileNotFoundError as error:
        raise InputError("no such pixel cache", file=error.filename or path) from error
    except (OSError, ValueError, TypeError, KeyError, EOFError, AttributeError) as error:
        raise InputError(
            f"not a readable pixel cache ({str(error).splitlines()[0]})", file=path, remedy=_REMEDY
        ) from error
    if found != dataset_sha256 or kept != geometry:
        raise InputError(
            "it is stale: it holds other images or another geometry", file=path, remedy=_REMEDY
        )
    n_blocks = -(-shape[0] // BLOCK)
    if (
        pixels.shape != shape
        or pixels.dtype != np.uint8
        or (block, len(checksums)) != (BLOCK, n_blocks)
    ):
        raise InputError(
            f"has shape {pixels.shape}, but its description says {shape}",
            file=path,
            remedy=_REMEDY,
        )
    return PixelCache(path, pixels, checksums)


def remove_pixels(path: str | os.PathLike[str]) -> None:
    """Remove a pixel cache, its description first: without that, the pixels are not used.

    Parameters
    ----------
    path : path-like
        The `.npy` file; it may be missing.
    """
    Path(path).with_suffix(".json").unlink(missing_ok=True)
    Path(path).unlink(missing_ok=True)


def _allocate(path: Path, shape: tuple[int, ...]) -> None:
    """Create the array's file at its full size: a memory map cannot report that a disk is full."""
    n_bytes = int(np.prod(shape))
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)
    offset = int(array.offset)
    del array
    try:
        if hasattr(os, "posix_fallocate"):
            with path.open("r+b") as stream:
                os.posix_fallocate(stream.fileno(), 0, offset + n_bytes)
        elif shutil.disk_usage(path.parent).free < n_bytes:
            raise OSError(errno.ENOSPC, "no space left on device")
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise InputError(
            f"no room for {n_bytes / 1e9:.1f} GB of pixels ({error.strerror})",
            file=path.parent,
            remedy="Free that much space, put 'results' on another disk, or set "
            "inference.pixel_cache to false: each model then decodes the images itself",
        ) from error


# The dataset, output and geometry of a worker process, set once when it starts.
_work: tuple[Dataset, npt.NDArray[np.uint8], Geometry]


def _open_work(folder: str, partial: Path, geometry: Geometry) -> None:
    global _work
    pixels = np.lib.format.open_memmap(partial, mode="r+")
    # The parent process has already verified the dataset.
    _work = read_dataset(folder, verify=False), pixels, geometry


def _fill_block(start: int) -> int:
    dataset, pixels, geometry = _work
    rows = pixels[start : start + BLOCK]
    for i in range(len(rows)):
        rows[i] = decode(dataset, start + i, geometry)
    checksum = zlib.crc32(rows.data)
    release(pixels)
    return checksum


@contextmanager
def _workers(n_workers: int, work: tuple[str, Path, Geometry]) -> Iterator[Any]:
    """Yield a function that maps `_fill_block` over blocks, in this process or in several."""
    if n_workers == 1:
        _open_work(*work)

        def run(starts: Iterable[int]) -> Iterator[int]:
            return map(_fill_block, starts)

        yield run
        return
    # Spawned rather than forked: a fork of a process with threads may hang.
    pool = ProcessPoolExecutor(n_workers, get_context("spawn"), _open_work, work)
    try:
        yield lambda starts: pool.map(_fill_block, starts)
    except BrokenProcessPool as error:
        raise InputError(
            "a worker process was killed", remedy="Give the job more memory, or fewer threads"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
