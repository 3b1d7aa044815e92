"""Where models run."""

import logging

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
