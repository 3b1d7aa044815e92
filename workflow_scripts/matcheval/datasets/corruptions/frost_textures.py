"""The photographs that the corruption `frost` needs."""

from functools import lru_cache
from pathlib import Path
from zipfile import BadZipFile
from zipfile import Path as ZipPath

import numpy as np
import numpy.typing as npt
from PIL import Image

from matcheval.datasets.corruptions.names import ARCHIVE
from matcheval.errors import InputError

# The photographs' folder in the archive.
_FOLDER = "imagecorruptions/frost/"

# The authors' program has six photographs, and draws from the first five.
_NAMES = ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg")


_REMEDY = (
    f"Name the folder of the five photographs, or the file {ARCHIVE}, which has them, or use "
    "'frost_procedural', which needs none"
)


@lru_cache(maxsize=2)
def load_textures(place: Path | None) -> list[npt.NDArray[np.uint8]]:
    """Read the photographs."""
    if place is None:
        raise InputError("the corruption 'frost' needs photographs", remedy=_REMEDY)
    try:
        folder = ZipPath(place, _FOLDER) if place.is_file() else place
    except BadZipFile as error:
        raise InputError(f"cannot be read: {error}", file=place, remedy=_REMEDY) from error
    missing = [name for name in _NAMES if not (folder / name).is_file()]
    if missing:
        raise InputError(f"no {', '.join(missing)} for 'frost'", file=place, remedy=_REMEDY)
    return [_read(folder / name) for name in _NAMES]


def _read(path: Path | ZipPath) -> npt.NDArray[np.uint8]:
    try:
        with path.open("rb") as file:
            return np.array(Image.open(file).convert("RGB"))
    except (OSError, BadZipFile) as error:
        raise InputError(f"cannot be read: {error}", file=path) from error
