"""What a corruption consists of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
# float32 or float64, shape (n, height, width, 3), values in [0, 1]
Images = npt.NDArray[np.floating[Any]]
Generators = list[np.random.Generator]  # one per image
Apply = TypeVar("Apply", bound=Callable[..., npt.NDArray[Any]])


@dataclass(frozen=True)
class Corruption:
    """A corruption, with the parameters of its severities.

    Attributes
    ----------
    parameters : mapping
        For images of 32 and of 224 pixels, the parameters of severities 1 to 5.
    apply : callable
        ``apply(images, generators, *parameters)`` returns the corrupted images. Images are floats
        in [0, 1] of shape (n, height, width, 3), and are not changed; `parameters` are those of one
        severity; randomness comes from `generators`, one per image. It keeps the type of floats;
        values outside [0, 1] are clipped by `corrupt`. No image may depend on others.
    on_bytes : bool
        `apply` takes and returns bytes (uint8) instead of floats.
    random : bool
        Whether `apply` takes generators.
    load : callable, optional
        What `apply` takes as last argument, from the folder that the user named (or None).
    """

    parameters: Mapping[int, tuple[Any, ...]]
    apply: Callable[..., npt.NDArray[Any]]
    on_bytes: bool
    random: bool
    load: Callable[[Path | None], Any] | None

    @property
    def family(self) -> str:
        """Name of its module: `noise`, `blur`, `weather`, `digital` or `c_bar`."""
        return self.apply.__module__.rpartition(".")[2]


CORRUPTIONS: dict[str, Corruption] = {}


def corruption(
    small: tuple[Any, ...], large: tuple[Any, ...] | None = None, *,
    on_bytes: bool = False, random: bool = True, load: Callable[[Path | None], Any] | None = None,
) -> Callable[[Apply], Apply]:  # fmt: skip
    """Register a function as the corruption of its name.

    `small` and `large` are the parameters of severities 1 to 5 for images of 32 and of 224 pixels,
    by default the same; the others are attributes of `Corruption`.
    """

    def register(apply: Apply) -> Apply:
        parameters = {32: small, 224: large or small}
        CORRUPTIONS[apply.__name__] = Corruption(parameters, apply, on_bytes, random, load)
        return apply

    return register
