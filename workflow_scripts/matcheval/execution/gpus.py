"""Detection of this machine's GPUs, and their reservation for single jobs. Imports no torch.

A GPU is reserved by a lock on a file, which the operating system releases when the process of the
job ends, for whatever reason. Jobs of several independent runs on one machine can thus share its
GPUs.
"""

import fcntl
import logging
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from matcheval.errors import InputError

LOGGER = logging.getLogger(__name__)

VISIBLE = "CUDA_VISIBLE_DEVICES"
# Folder of the device files; tests use another one.
DEVICES = Path("/dev")
_POLL_SECONDS = 0.2


def visible_gpus(environment: Mapping[str, str] = os.environ, devices: Path = DEVICES) -> list[str]:
    """List the GPUs that a process may use.

    Parameters
    ----------
    environment : mapping
        Environment variables. CUDA_VISIBLE_DEVICES, if set by a scheduler or the user, determines
        the list.
    devices : Path
        Folder of the NVIDIA driver's device files.

    Returns
    -------
    list of str
        Numbers or identifiers, in the form that CUDA_VISIBLE_DEVICES expects.
    """
    given = environment.get(VISIBLE)
    if given is not None:
        names = [name.strip() for name in given.split(",") if name.strip()]
        # As in CUDA: devices after -1 are invisible.
        return names[: names.index("-1")] if "-1" in names else names
    numbers = (re.fullmatch(r"nvidia(\d+)", file.name) for file in devices.glob("nvidia*"))
    return [str(n) for n in sorted(int(number[1]) for number in numbers if number)]


def lease(number: int, names: Sequence[str], folder: Path, *, patience: float = 86_400.0) -> str:
    """Reserve GPUs for this process until it ends; wait while other processes hold them.

    A program that replaces this process (`exec`) inherits the reservation.

    Parameters
    ----------
    number : int
        How many, at least 1.
    names : sequence of str
        GPUs to choose from, as `visible_gpus` lists them.
    folder : Path
        Folder of the lock files, created if missing. All processes that share the GPUs must use
        the same one.
    patience : float
        Longest time to wait, in seconds.

    Returns
    -------
    str
        The reserved GPUs, as a value of CUDA_VISIBLE_DEVICES.

    Raises
    ------
    InputError
        If there are fewer GPUs, or not enough become free in time.
    """
    if number > len(names):
        raise InputError(
            f"{number} GPU(s) requested, but only {len(names)} available"
            + (f" ({', '.join(names)})" if names else ""),
            remedy="Set 'inference.device' to cpu, or run on a machine with a GPU",
        )
    folder.mkdir(mode=0o777, parents=True, exist_ok=True)
    deadline, is_logged = time.monotonic() + patience, False
    while True:
        reserved = _try_to_reserve(number, names, folder)
        if reserved:
            return ",".join(reserved)
        if time.monotonic() > deadline:
            raise InputError(
                f"{number} GPU(s) requested, but not as many of {', '.join(names)} became free "
                f"within {patience:.0f} s"
            )
        if not is_logged:
            LOGGER.info("waiting for a free GPU of %s", ", ".join(names))
            is_logged = True
        time.sleep(_POLL_SECONDS)


def lock_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the lock files for the GPUs of this machine.

    Schedulers number the GPUs of every job from 0, so that the same number means different devices
    in different jobs: each job of a scheduler has its own folder.

    Parameters
    ----------
    environment : mapping
        Environment variables; SLURM_JOB_ID identifies a job of SLURM.

    Returns
    -------
    Path
        A folder of this user below the folder for temporary files.
    """
    job = environment.get("SLURM_JOB_ID")
    name = f"matched-eval-gpus-{job}" if job else "matched-eval-gpus"
    return Path(tempfile.gettempdir()) / f"{name}-{os.getuid()}"


def run_with_gpus(number: int, command: Sequence[str]) -> None:
    """Reserve GPUs, and replace this process by a command that sees only these GPUs.

    Parameters
    ----------
    number : int
        How many GPUs; with 0 the environment of the command is unchanged.
    command : sequence of str
        Program and arguments.

    Raises
    ------
    InputError
        As for `lease`.
    """
    if number:
        os.environ[VISIBLE] = lease(number, visible_gpus(), lock_folder())
        LOGGER.info("on GPU %s", os.environ[VISIBLE])
    sys.stdout.flush()
    os.execvp(command[0], list(command))


def _try_to_reserve(number: int, names: Sequence[str], folder: Path) -> list[str]:
    """Lock `number` devices and return their names; lock none if fewer are free."""
    locked: dict[str, int] = {}
    for name in names:
        file = folder / re.sub(r"[^\w.-]", "_", name)
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            continue
        locked[name] = handle
        if len(locked) == number:
            for lock in locked.values():
                os.set_inheritable(lock, True)
            return list(locked)
    for lock in locked.values():
        os.close(lock)
    return []
