"""What a corruption consists of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.jit import compiled

Bytes = npt.NDArray[np.uint8]
Images = npt.NDArray[
    np.floating[Any]
]  # float32 or float64, (n, height, width, 3), values in [0, 1]
Generators = list[np.random.Generator]  # one per image

# Added to grey levels before they are truncated: a value that is a whole level but for the rounding
# errors of float32 (below 1e-3 of a level) remains this level.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class Corruption:
    """A corruption, with the parameters of its severities.

    Attributes
    ----------
    name : str
    family : str
        Module and kind: `noise`, `blur`, `weather`, `digital`, ...
    parameters : mapping
        For images of 32 and of 224 pixels, the parameters of severities 1 to 5.
    apply : callable
        ``apply(images, parameters, generators)`` returns the corrupted images. Images are floats in
        [0, 1] of shape (n, height, width, 3), and are not changed; `parameters` are those of one
        severity; randomness comes from `generators`, one per image. It keeps the type of floats;
        values outside [0, 1] are clipped by `corrupt`. No image may depend on others.
    on_bytes : bool
        `apply` takes and returns bytes (uint8) instead of floats.
    random : bool
        Whether it needs generators; without, it gets an empty list.
    load : callable, optional
        What `apply` takes as fourth argument, from the folder that the user named (or None).
    """

    name: str
    family: str
    parameters: Mapping[int, tuple[Any, ...]]
    apply: Callable[..., npt.NDArray[Any]]
    on_bytes: bool = False
    random: bool = True
    load: Callable[[Path | None], Any] | None = None


def to_bytes(images: Images) -> Bytes:
    """Turn floats into bytes: clipped, times 255, truncated."""
    result = np.empty(images.shape, np.uint8)
    _truncate(np.ascontiguousarray(images).ravel(), result.ravel())
    return result


@compiled()
def _truncate(values: Images, result: Bytes) -> None:
    largest, rounding = values.dtype.type(255), values.dtype.type(_ROUNDING)
    for i in range(len(values)):
        level = min(max(values[i] * largest, values.dtype.type(0)), largest)
        result[i] = np.uint8(level + rounding)


def by_size(small: tuple[Any, ...], large: tuple[Any, ...]) -> dict[int, tuple[Any, ...]]:
    """Return parameters by size of image."""
    return {32: small, 224: large}
