"""Tickets: how the models that share a pixel cache know of it, and when to let go of it.

A cache of ImageNet is gigabytes large, and a study of many models has tens of them: each is to be
there while models need it, and no longer. Snakemake's `temp()` does that, at a price: once the
file is gone, a model that is added brings it back, newer than the predictions of all others that
had it as input, which are then made again; and turning the cache off changes everybody's inputs.
So models depend on a ticket instead, a small file that stays: it says where the pixels would be,
and whose predictions are waited for. A model reads the cache if it is there, and decodes for
itself otherwise, to the same predictions; the last one of the ticket removes it.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from matcheval.datasets.folders import read_description
from matcheval.errors import InputError
from matcheval.inference.pixel_cache import open_pixels, remove_pixels, write_pixels
from matcheval.io.files import whole_file
from matcheval.models.geometry import Geometry


@dataclass(frozen=True)
class Ticket:
    """What models of one geometry are told of a dataset's pixel cache.

    Attributes
    ----------
    pixels : str or None
        Where the cache is; None if each model decodes for itself.
    keep : bool
        Whether it is kept for good.
    waiting : tuple of str
        Prediction files that are made with it.
    """

    pixels: str | None
    keep: bool
    waiting: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> "Ticket":
        """Read a ticket.

        Raises
        ------
        InputError
            If it is missing or damaged.
        """
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            return cls(values["pixels"], bool(values["keep"]), tuple(values["waiting"]))
        except FileNotFoundError as error:
            raise InputError("no such ticket of a pixel cache", file=path) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"not a readable ticket of a pixel cache ({error})",
                file=path,
                remedy="Delete it and run again",
            ) from error

    @property
    def has_pixels(self) -> bool:
        """Whether the cache is there, sound or not."""
        return self.pixels is not None and Path(self.pixels).exists()

    def finish(self, path: Path) -> None:
        """Remove the cache if nobody waits for it any more; called by each model at its end.

        Parameters
        ----------
        path : Path
            The ticket's own file: predictions older than it are those that are to be replaced.
        """
        if self.keep or self.pixels is None:
            return
        since = path.stat().st_mtime_ns
        files = map(Path, self.waiting)
        if all(file.exists() and file.stat().st_mtime_ns >= since for file in files):
            remove_pixels(self.pixels)


def issue_ticket(
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
    """Make the pixel cache that models wait for, and their ticket.

    Parameters
    ----------
    dataset_folder : Path
        The prepared dataset.
    geometry : Geometry
        What happens to its images.
    pixels, path : Path
        Where cache and ticket go. A sound cache that is there already is taken.
    waiting : tuple of str
        Prediction files to be made with it. Fewer than two are not worth a cache: decoding
        then goes along with computing.
    keep : bool
        Whether the cache stays when all of them are made.
    n_workers, progress
        As for `pixels.write_pixels`.

    Raises
    ------
    InputError
        As `pixels.write_pixels`.
    """
    there, wanted = _is_sound(dataset_folder, geometry, pixels), len(waiting) >= 2
    if wanted and not there:
        write_pixels(dataset_folder, geometry, pixels, n_workers=n_workers, progress=progress)
    ticket = Ticket(str(pixels) if wanted or there else None, keep, waiting)
    with whole_file(path) as partial:
        partial.write_text(json.dumps(asdict(ticket)) + "\n", encoding="utf-8")


def _is_sound(dataset_folder: Path, geometry: Geometry, pixels: Path) -> bool:
    try:
        open_pixels(pixels, read_description(dataset_folder)["sha256"], geometry)
    except InputError:  # missing, damaged or stale: it is written anew
        return False
    return True
