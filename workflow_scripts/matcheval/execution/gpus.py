"""Which GPUs this machine has, and one of them for each job. Imports no torch.

A device is taken by a lock on a file, which the operating system frees when the job's process
ends, however it ends. So jobs of several runs on one machine share its GPUs without knowing of
each other.
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
# Where device files are; tests give another folder.
DEVICES = Path("/dev")
_POLL_SECONDS = 0.2


def visible_gpus(environment: Mapping[str, str] = os.environ, devices: Path = DEVICES) -> list[str]:
    """Name the GPUs that a process may use.

    Parameters
    ----------
    environment : mapping
        If it has CUDA_VISIBLE_DEVICES, that is the list: a scheduler's, or the user's.
    devices : Path
        Folder of the NVIDIA driver's device files.

    Returns
    -------
    list of str
        Numbers or identifiers, as CUDA_VISIBLE_DEVICES takes them.
    """
    given = environment.get(VISIBLE)
    if given is not None:
        names = [name.strip() for name in given.split(",") if name.strip()]
        # As CUDA has it: what follows -1 is not seen.
        return names[: names.index("-1")] if "-1" in names else names
    numbers = (re.fullmatch(r"nvidia(\d+)", file.name) for file in devices.glob("nvidia*"))
    return [str(n) for n in sorted(int(number[1]) for number in numbers if number)]


def lease(number: int, names: Sequence[str], folder: Path, *, patience: float = 86_400.0) -> str:
    """Take GPUs for this process alone, until it ends; wait while others have them.

    The locks pass to what this process turns into (`exec`).

    Parameters
    ----------
    number : int
        How many, at least 1.
    names : sequence of str
        What there is to choose from.
    folder : Path
        Of the locks; made if missing. Those who share GPUs must share it.
    patience : float
        Seconds to wait.

    Returns
    -------
    str
        What CUDA_VISIBLE_DEVICES is to be.

    Raises
    ------
    InputError
        If there are not so many, or others keep them for too long.
    """
    if number > len(names):
        raise InputError(
            f"{number} GPU(s) are asked for, and {len(names)} are there"
            + (f" ({', '.join(names)})" if names else ""),
            remedy="Set 'inference.device' to cpu, or run on a machine with a GPU",
        )
    folder.mkdir(mode=0o777, parents=True, exist_ok=True)
    deadline, told = time.monotonic() + patience, False
    while True:
        taken = _try_all(number, names, folder)
        if taken:
            return ",".join(taken)
        if time.monotonic() > deadline:
            raise InputError(f"no {number} of the GPUs {', '.join(names)} free in {patience:.0f} s")
        if not told:
            LOGGER.info("waiting for a free GPU of %s", ", ".join(names))
            told = True
        time.sleep(_POLL_SECONDS)


def lock_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where locks of this machine's GPUs are.

    Schedulers number the GPUs of every job from 0, so that the same name means different devices:
    a scheduler's job has a folder of its own.
    """
    job = environment.get("SLURM_JOB_ID")
    name = f"matched-eval-gpus-{job}" if job else "matched-eval-gpus"
    return Path(tempfile.gettempdir()) / f"{name}-{os.getuid()}"


def run_with_gpus(number: int, command: Sequence[str]) -> None:
    """Become a command that sees GPUs of its own, and returns as it returns.

    Parameters
    ----------
    number : int
        How many; with 0 the command is run as it is.
    command : sequence of str
        Program and arguments.
    """
    if number:
        os.environ[VISIBLE] = lease(number, visible_gpus(), lock_folder())
        LOGGER.info("on GPU %s", os.environ[VISIBLE])
    sys.stdout.flush()
    os.execvp(command[0], list(command))


def _try_all(number: int, names: Sequence[str], folder: Path) -> list[str]:
    """Lock so many devices; none at all, if that many are not free."""
    taken: dict[str, int] = {}
    for name in names:
        file = folder / re.sub(r"[^\w.-]", "_", name)
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            continue
        taken[name] = handle
        if len(taken) == number:
            for lock in taken.values():
                os.set_inheritable(lock, True)
            return list(taken)
    for lock in taken.values():
        os.close(lock)
    return []
