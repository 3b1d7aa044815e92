"""Where models run."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from matcheval.errors import InputError

DEVICES = ("cpu", "cuda", "mps", "auto")

log = logging.getLogger(__name__)


def resolve_device(name: str) -> torch.device:
    """Get the device of a name, never another one in its place.

    Parameters
    ----------
    name : str
        `cpu`, `cuda`, `mps`, or `auto` for the best one present, which is logged.

    Raises
    ------
    InputError
        If the name is unknown or this machine has no such device.
    """
    if name not in DEVICES:
        raise InputError(
            f"unknown device '{name}'", field="device", remedy=f"Known: {', '.join(DEVICES)}"
        )
    present = [
        device
        for device, there in (
            ("cuda", torch.cuda.is_available()),
            ("mps", torch.backends.mps.is_available()),
            ("cpu", True),
        )
        if there
    ]
    if name == "auto":
        log.info("device auto: %s", present[0])
        return torch.device(present[0])
    if name not in present:
        raise InputError(
            f"this machine has no '{name}' that torch can use",
            field="device",
            remedy=f"Present: {', '.join(present)}",
        )
    return torch.device(name)


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether an error says that a device's memory is full.

    CUDA has a type for it, its libraries have a status, MPS and the CPU's allocator have words.
    """
    words = ("out of memory", "ALLOC_FAILED", "can't allocate memory")
    return isinstance(error, torch.OutOfMemoryError) or any(word in str(error) for word in words)


@contextmanager
def full_memory(problem: str, *, file: object, field: object = None, remedy: str) -> Iterator[None]:
    """Say what to do where the block fills a device's memory.

    Parameters
    ----------
    problem, file, field, remedy
        Of the `InputError` that takes the place of torch's error.

    Raises
    ------
    InputError
        If a device's memory is full; all other errors pass.
    """
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise InputError(problem, file=file, field=field, remedy=remedy) from error
