"""Corrupting arrays of images."""

import operator
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from matcheval.datasets.corruptions import blur, c_bar, digital, noise, weather  # noqa: F401
from matcheval.datasets.corruptions.corruption import CORRUPTIONS, Bytes, to_bytes
from matcheval.datasets.corruptions.names import SEVERITIES
from matcheval.errors import InputError, unknown_name_error

_LARGEST_SMALL = 64  # pixels: up to here, parameters for 32 pixels are the default
# Pixel values corrupted at a time. The allocator uses the memory of arrays of 256 KB (as floats)
# again; that of larger ones goes back to the system, which clears it for every step.
_BLOCK = 1 << 16


def corrupt(
    images: Bytes,
    name: str,
    severity: int,
    indices: Sequence[int] | npt.NDArray[np.integer],
    *,
    seed: int = 0,
    size: Literal["auto", 32, 224] = "auto",
    textures: Path | None = None,
) -> Bytes:
    """Corrupt images."""
    _check(images, name, severity, indices, seed, size)
    corruption = CORRUPTIONS[name]
    height, width = images.shape[1:3]
    side = size if size != "auto" else 32 if max(height, width) <= _LARGEST_SMALL else 224
    parameters = corruption.parameters[side][severity - 1]
    loaded = (corruption.load(textures),) if corruption.load else ()
    if corruption.on_bytes and not corruption.random:
        return corruption.apply(images, parameters, [], *loaded)
    key = [seed, zlib.crc32(name.encode()), severity]
    result = np.empty(images.shape, np.uint8)
    step = max(1, _BLOCK // (3 * height * width))
    for start in range(0, len(images), step):
        block = images[start : start + step]
        places = indices[start : start + step] if corruption.random else []
        generators = [np.random.default_rng([*key, int(place)]) for place in places]
        values = block if corruption.on_bytes else block / np.float32(255)
        corrupted = corruption.apply(values, parameters, generators, *loaded)
        result[start : start + step] = corrupted if corruption.on_bytes else to_bytes(corrupted)
    return result


def _check(
    images: Bytes,
    name: str,
    severity: int,
    indices: Sequence[int] | npt.NDArray[np.integer],
    seed: int,
    size: object,
) -> None:
    if name not in CORRUPTIONS:
        raise unknown_name_error("corruption", name, CORRUPTIONS)
    if isinstance(severity, bool) or severity not in SEVERITIES:
        raise unknown_name_error("severity", str(severity), map(str, SEVERITIES))
    if size not in ("auto", 32, 224):
        raise unknown_name_error("size", str(size), ("auto", "32", "224"))
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[-1] != 3:
        found = f"{images.dtype} of shape {images.shape}"
        raise InputError(
            f"images to corrupt are {found}, not bytes of shape (n, height, width, 3)",
            remedy="Convert them to RGB bytes",
        )
    if len(indices) != len(images):
        raise InputError(f"{len(indices)} indices of {len(images)} images to corrupt")
    if min([seed, *map(operator.index, indices)], default=0) < 0:
        raise InputError("the seed or an index of an image to corrupt is negative")
