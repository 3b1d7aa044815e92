"""What training and inference share: the input transform, and arithmetic that repeats itself."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from matcheval.errors import InputError


def to_input(images: npt.NDArray[np.uint8], max_value: int) -> Tensor:
    """Bring pixels to what models take.

    Parameters
    ----------
    images : uint8 array, shape (n, height, width, channels)
        Pixels in 0..max_value.
    max_value : int
        The pixel value that means 1.0.

    Returns
    -------
    float32 tensor, shape (n, channels, height, width)
        Pixels in [0, 1].
    """
    channels_first = images.transpose(0, 3, 1, 2)
    return torch.from_numpy(np.ascontiguousarray(channels_first, dtype=np.float32) / max_value)


def transform_text(max_value: int) -> str:
    """Name what `to_input` does, for a file's provenance."""
    return f"uint8 / {max_value}"


@contextmanager
def repeatable_arithmetic(n_threads: int = 1) -> Iterator[None]:
    """Make torch repeat its results to the bit within the block, then restore its settings.

    Operations without a deterministic implementation raise; convolutions neither benchmark
    nor round to TF32. Results may still differ between numbers of threads, kinds of processor
    and versions of torch.

    Parameters
    ----------
    n_threads : int
        CPU threads of one operation, at least 1.

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
    torch.set_deterministic_debug_mode("error")
    try:
        with torch.backends.cudnn.flags(
            enabled=True, benchmark=False, deterministic=True, allow_tf32=False
        ):
            yield
    finally:
        torch.set_deterministic_debug_mode(mode)
        torch.set_num_threads(threads)
