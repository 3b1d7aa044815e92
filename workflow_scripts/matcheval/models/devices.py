"""Devices that models run on, and out-of-memory errors."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from matcheval.errors import InputError

DEVICES = ("cpu", "cuda", "mps", "auto")

log = logging.getLogger(__name__)


def resolve_device(name: str) -> torch.device:
    """Return the device of a name, without falling back to another one."""
    if name not in DEVICES:
        raise InputError(
            f"unknown device '{name}'", field="device", remedy=f"Known: {', '.join(DEVICES)}"
        )
    available = [
        device
        for device, is_available in (
            ("cuda", torch.cuda.is_available()),
            ("mps", torch.backends.mps.is_available()),
            ("cpu", True),
        )
        if is_available
    ]
    if name == "auto":
        log.info("device auto: %s", available[0])
        return torch.device(available[0])
    if name not in available:
        raise InputError(
            f"this machine has no '{name}' that torch can use",
            field="device",
            remedy=f"Available: {', '.join(available)}",
        )
    return torch.device(name)


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether an error means that a device is out of memory."""
    messages = ("out of memory", "ALLOC_FAILED", "can't allocate memory")
    return isinstance(error, torch.OutOfMemoryError) or any(
        message in str(error) for message in messages
    )


@contextmanager
def full_memory(problem: str, *, file: object, field: object = None, remedy: str) -> Iterator[None]:
    """Turn a device's out-of-memory errors in the block into an `InputError`."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise InputError(problem, file=file, field=field, remedy=remedy) from error
