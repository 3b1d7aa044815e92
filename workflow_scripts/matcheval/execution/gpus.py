"""The reservation of this machine's GPUs for single jobs. Imports no torch.

A GPU is reserved by a lock on a file, which the operating system releases when the process of the
job ends, for whatever reason. The files are named by UUID and lie in a folder that all users of the
machine share, so that runs of several users share its GPUs.
"""

import fcntl
import logging
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from matcheval.errors import InputError
from matcheval.execution.gpu_devices import VISIBLE, visible_gpus

LOGGER = logging.getLogger(__name__)

# Names another folder for the lock files: one that containers on the same machine have in common.
LOCKS = "MATCHEVAL_GPU_LOCKS"
# Folders in which everybody may create files, and remove only their own ones (sticky).
_SHARED = (Path("/run/lock"), Path("/dev/shm"), Path("/tmp"))
_POLL_SECONDS = 0.2
_CREATION_SECONDS = 5


def lease(number: int, names: Sequence[str], folder: Path, *, patience: float = 86_400.0) -> str:
    """Reserve GPUs for this process until it ends; wait while other processes hold them."""
    if number > len(names):
        raise InputError(
            f"{number} GPU(s) requested, but only {len(names)} available"
            + (f" ({', '.join(names)})" if names else ""),
            remedy="Set 'inference.device' to cpu, or run on a machine with a GPU",
        )
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
    """Return the folder of the lock files for the GPUs of this machine, which exists."""
    if given := environment.get(LOCKS):
        if not Path(given).is_dir():
            raise InputError(f"no such folder: {given}", file="environment", field=LOCKS)
        return Path(given)
    if job := environment.get("SLURM_JOB_ID"):
        folder = Path(tempfile.gettempdir()) / f"matched-eval-gpus-{job}-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            raise InputError("belongs to somebody else", file=folder, remedy="Have it removed")
        return folder
    for folder in _SHARED:
        if folder.is_dir() and is_shared_by_all(folder.stat().st_mode):
            return folder
    raise InputError(
        "no folder is shared by all users: " + ", ".join(map(str, _SHARED)),
        remedy=f"Name one in the environment variable {LOCKS}",
    )


def is_shared_by_all(mode: int) -> bool:
    """Whether everybody may create files in a folder, and nobody may replace those of others."""
    return bool(mode & stat.S_IWOTH and mode & stat.S_ISVTX)


def run_with_gpus(number: int, command: Sequence[str]) -> None:
    """Reserve GPUs, and replace this process by a command that sees only these GPUs."""
    if number:
        os.environ[VISIBLE] = lease(number, visible_gpus(os.environ), lock_folder())
        LOGGER.info("on GPU %s", os.environ[VISIBLE])
    sys.stdout.flush()
    os.execvp(command[0], list(command))


def _try_to_reserve(number: int, names: Sequence[str], folder: Path) -> list[str]:
    """Lock `number` devices and return their names; lock none if fewer are free."""
    locked: dict[str, int] = {}
    for name in names:
        handle = _open(folder / f"matched-eval-gpu-{re.sub(r'[^A-Za-z0-9.-]', '_', name)}.lock")
        if handle is None:
            continue
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


def _open(file: Path) -> int | None:
    """Open a lock file that any user may have made; None if its maker is about to let us read it.

    It is opened for reading, which suffices for a lock: systems that protect files in sticky
    folders (`fs.protected_regular`) let nobody open the files of others with O_CREAT.
    """
    for flags in (0, os.O_CREAT | os.O_EXCL, 0):  # the last for one made between the two
        try:
            handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | flags, 0o644)
        except FileNotFoundError:
            continue
        except FileExistsError:
            continue
        except PermissionError:
            if time.time() - file.lstat().st_mtime < _CREATION_SECONDS:
                return None
            raise InputError("cannot be read", file=file, remedy="Have it removed") from None
        except OSError as error:
            raise InputError(
                f"not a lock file ({error.strerror})", file=file, remedy="Have it removed"
            ) from None
        if flags:
            os.fchmod(handle, 0o644)  # whatever the umask
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise InputError("not a lock file", file=file, remedy="Have it removed")
        return handle
    return None
