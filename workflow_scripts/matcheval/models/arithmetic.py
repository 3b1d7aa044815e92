"""What training and inference share: the input transform, and arithmetic that repeats itself."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils import deterministic

from matcheval.errors import InputError


def to_input(
    images: npt.NDArray[np.uint8],
    max_value: int,
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
) -> Tensor:
    """Bring pixels to what models take.

    Parameters
    ----------
    images : uint8 array, shape (n, height, width, channels)
        Pixels in 0..max_value.
    max_value : int
        The pixel value that means 1.0.
    mean, std : sequence of float
        Of each channel, of pixels in [0, 1], std above 0; empty for 0 and 1.

    Returns
    -------
    float32 tensor, shape (n, channels, height, width)
        (pixels / max_value - mean) / std, computed in float32.
    """
    channels_first = images.transpose(0, 3, 1, 2)
    scaled = np.ascontiguousarray(channels_first, dtype=np.float32) / max_value
    return normalize(torch.from_numpy(scaled), mean, std)


def normalize(images: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Normalise images in [0, 1] by channel, on the device where they are.

    Parameters
    ----------
    images : float tensor, shape (n, channels, height, width)
    mean, std : sequence of float
        As for `to_input`; means of 0 with deviations of 1 leave the images as they are.

    Returns
    -------
    float tensor of the same shape
    """
    if not any(mean) and all(value == 1 for value in std):
        return images
    as_channels = (images.new_tensor(tuple(values))[:, None, None] for values in (mean, std))
    return (images - next(as_channels)) / next(as_channels)


def transform_text(max_value: int, mean: Sequence[float] = (), std: Sequence[float] = ()) -> str:
    """Name what `to_input` does, for a file's provenance."""
    if not any(mean) and all(value == 1 for value in std):
        return f"uint8 / {max_value}"
    means, deviations = (", ".join(f"{value:.6g}" for value in values) for values in (mean, std))
    return f"(uint8 / {max_value} - ({means})) / ({deviations})"


@contextmanager
def repeatable_arithmetic(n_threads: int = 1, *, strict: bool = True) -> Iterator[None]:
    """Make torch repeat its results to the bit within the block, then restore its settings.

    Convolutions neither benchmark nor round to TF32. Results may still differ between numbers
    of threads, kinds of processor and versions of torch.

    Parameters
    ----------
    n_threads : int
        CPU threads of one operation, at least 1.
    strict : bool
        Whether operations without a deterministic implementation raise; otherwise torch warns
        of them. There are such on GPUs only.

    Raises
    ------
    InputError
        If `n_threads` is below 1.
    """
    if n_threads < 1:
        raise InputError(f"is {n_threads}", field="threads", remedy="Give at least 1")
    # What CUDA's matrix products need for determinism; read when the first of them runs.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    threads, mode = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    torch.set_num_threads(n_threads)
    # As use_deterministic_algorithms(True), without its import of the compiler (over a second).
    torch.set_deterministic_debug_mode("error" if strict else "warn")
    # Filling new tensors with NaN finds programs that read what they did not write; ours do not,
    # and it takes a tenth of the time.
    filled = deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        with torch.backends.cudnn.flags(
            enabled=True, benchmark=False, deterministic=True, allow_tf32=False
        ):
            yield
    finally:
        deterministic.fill_uninitialized_memory = filled  # type: ignore[attr-defined]
        torch.set_deterministic_debug_mode(mode)
        torch.set_num_threads(threads)
