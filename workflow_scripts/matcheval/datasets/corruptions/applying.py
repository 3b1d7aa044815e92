"""Corrupting arrays of images."""

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

# Importing the families enters their corruptions into `CORRUPTIONS`.
from matcheval.datasets.corruptions import c_bar, digital, noise_and_blur, weather  # noqa: F401
from matcheval.datasets.corruptions.operations import CORRUPTIONS, Bytes, to_bytes

# Pixel values corrupted at a time. The allocator uses the memory of arrays of 256 KB (as floats)
# again; that of larger ones goes back to the system, which clears it for every step.
_BLOCK = 1 << 16


def corrupt(
    images: Bytes, name: str, severity: int, indices: Sequence[int] | npt.NDArray[np.integer], *,
    seed: int = 0, size: Literal[32, 224] = 32, textures: Path | None = None,
) -> Bytes:  # fmt: skip
    """Corrupt RGB images, shape (n, height, width, 3), by a corruption at a severity of 1 to 5.

    The severity's parameters are those for images of a side of `size` pixels. With seed, name and
    severity, the index of an image seeds its random numbers. `textures` is the folder or archive of
    the photographs of `frost`.
    """
    corruption = CORRUPTIONS[name]
    height, width = images.shape[1:3]
    parameters = corruption.parameters[size][severity - 1]
    arguments = list(parameters) if isinstance(parameters, tuple) else [parameters]
    arguments += [corruption.load(textures)] if corruption.load else []
    key = [seed, zlib.crc32(name.encode()), severity]
    result = np.empty(images.shape, np.uint8)
    step = max(1, _BLOCK // (3 * height * width))
    for start in range(0, len(images), step):
        block = slice(start, start + step)
        values = images[block] if corruption.on_bytes else images[block] / np.float32(255)
        if corruption.random:
            generators = [np.random.default_rng([*key, int(index)]) for index in indices[block]]
            corrupted = corruption.apply(values, generators, *arguments)
        else:
            corrupted = corruption.apply(values, *arguments)
        result[block] = corrupted if corruption.on_bytes else to_bytes(corrupted)
    return result
