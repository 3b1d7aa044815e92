"""The photographs that the corruption `frost` needs."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from matcheval.errors import InputError

# The authors' program has six photographs, and draws from the first five.
_NAMES = ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg")


def load_textures(folder: Path | None) -> list[npt.NDArray[np.uint8]]:
    """Read the photographs.

    Parameters
    ----------
    folder : path or None

    Returns
    -------
    list of uint8 array, shape (height, width, 3)

    Raises
    ------
    InputError
        If there is no folder, or one of the photographs is not in it or cannot be read.
    """
    remedy = "Name the folder of the five photographs, or use 'frost_procedural', which needs none"
    if folder is None:
        raise InputError("the corruption 'frost' needs photographs", remedy=remedy)
    missing = [name for name in _NAMES if not (folder / name).is_file()]
    if missing:
        raise InputError(f"no {', '.join(missing)} for 'frost'", file=folder, remedy=remedy)
    return _read(folder)


@lru_cache(maxsize=2)
def _read(folder: Path) -> list[npt.NDArray[np.uint8]]:
    textures = []
    for name in _NAMES:
        try:
            textures.append(np.array(Image.open(folder / name).convert("RGB")))
        except OSError as error:
            raise InputError(f"cannot be read: {error}", file=folder / name) from error
    return textures
