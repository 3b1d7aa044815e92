"""The GPUs of this machine, and their reservation for single jobs. Imports no torch.

A GPU is reserved by a lock on a file, which the operating system releases when the process of the
job ends, for whatever reason. The files are named by UUID and lie in a folder that all users of the
machine share, so that runs of several users share its GPUs.
"""

import fcntl
import logging
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from matcheval.errors import InputError

LOGGER = logging.getLogger(__name__)

VISIBLE = "CUDA_VISIBLE_DEVICES"
# Folder of the device files; tests use another one.
DEVICES = Path("/dev")
# Where Windows' subsystem for Linux has `nvidia-smi`, which need not be on PATH.
_WSL = "/usr/lib/wsl/lib"
_SECONDS = 60  # a driver that is not kept loaded takes a while
_GPU = re.compile(r"GPU \d+: .*\(UUID: (GPU-[\w-]+)\)")
_PART = re.compile(r"\s+MIG .*\(UUID: (MIG-[\w/-]+)\)")
# Names another folder for the lock files: one that containers on the same machine have in common.
LOCKS = "MATCHEVAL_GPU_LOCKS"
# Folders in which everybody may create files, and remove only their own ones (sticky).
_SHARED = (Path("/run/lock"), Path("/dev/shm"), Path("/tmp"))
_POLL_SECONDS = 0.2
_CREATION_SECONDS = 5


def visible_gpus(environment: Mapping[str, str], devices: Path = DEVICES) -> list[str]:
    """List the GPUs, or MIG parts of GPUs, that a process may use: UUIDs, or else numbers.

    A number means another GPU in another process: CUDA counts those that a process may use, fastest
    first, `nvidia-smi` counts by bus, and a container may hold nothing but `/dev/nvidia3`. A UUID
    means the same GPU, or the same part of one (MIG), everywhere on the machine.
    """
    visible = environment.get(VISIBLE)
    names = [name.strip() for name in (visible or "").split(",") if name.strip()]
    if "-1" in names:  # as in CUDA, those after it are invisible
        names = names[: names.index("-1")]
    if visible is not None and not names:
        return []
    gpus = driver_gpus(environment)
    if gpus is not None:
        if visible is None:
            return [name for uuid, parts in gpus.items() for name in parts or [uuid]]
        return list(dict.fromkeys(_resolve_uuids(names, gpus)))
    if visible is not None:
        return names
    files = [file for file in devices.glob("nvidia*") if re.fullmatch(r"nvidia\d+", file.name)]
    if files:
        LOGGER.warning(
            "the NVIDIA driver cannot be asked (nvidia-smi is missing or does not work); GPUs are "
            "known by number only, and may be shared with jobs that know them by UUID"
        )
    return [str(number) for number in range(len(files))]  # CUDA counts from 0, not as the files


def driver_gpus(environment: Mapping[str, str]) -> dict[str, list[str]] | None:
    """Ask the driver for each GPU's UUID and those of its MIG parts; None if it names no GPU."""
    done = run_nvidia_smi(environment, "-L")
    if done is None:
        return None
    gpus: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        if match := _GPU.match(line):
            gpus[match[1]] = parts = []
        elif gpus and (match := _PART.match(line)):
            parts.append(match[1])
    if done.returncode or not gpus:
        output = " ".join((done.stdout + done.stderr).split())
        # Without a GPU, it is an error, too, and no reason for a message.
        if "No devices" not in output:
            LOGGER.warning("nvidia-smi -L: %s", output or "no output")
        return None
    return gpus


def run_nvidia_smi(
    environment: Mapping[str, str], *arguments: str
) -> subprocess.CompletedProcess[str] | None:
    """Run `nvidia-smi` with some arguments; None if it is not installed or does not answer."""
    command = shutil.which("nvidia-smi", path=f"{environment.get('PATH', '')}:{_WSL}")
    if command is None:
        return None
    try:
        return subprocess.run(
            [command, *arguments], capture_output=True, text=True, errors="replace",
            timeout=_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        LOGGER.warning("nvidia-smi: %s", error)
        return None


def _resolve_uuids(names: Sequence[str], gpus: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield UUIDs for numbers, UUIDs or prefixes of them; as in CUDA, stop at an unknown name."""
    uuids = [uuid for gpu, parts in gpus.items() for uuid in (gpu, *parts)]
    for name in names:
        if name.isdecimal():
            matching = [*gpus][int(name) : int(name) + 1]
        else:
            matching = [uuid for uuid in uuids if uuid.startswith(name)]
        if len(matching) != 1:
            LOGGER.warning(
                "%s names '%s', which is not one of the driver's GPUs (%s): it and those after it "
                "are not used", VISIBLE, name, ", ".join(uuids) or "none"
            )  # fmt: skip
            return
        yield from gpus.get(matching[0]) or matching


def reserve_when_free(number: int, names: Sequence[str], folder: Path) -> str:
    """Wait for and reserve GPUs for this process; return their names, separated by commas."""
    if number > len(names):
        available = f"{len(names)} available" + (f" ({', '.join(names)})" if names else "")
        remedy = "Set 'inference.device' to cpu, or run on a machine with a GPU"
        raise InputError(f"{number} GPU(s) requested, but only {available}", remedy=remedy)
    if not (reserved := _try_to_reserve(number, names, folder)):
        LOGGER.info("waiting for a free GPU of %s", ", ".join(names))
    while not reserved:
        time.sleep(_POLL_SECONDS)
        reserved = _try_to_reserve(number, names, folder)
    return ",".join(reserved)


def lock_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Find the folder of GPU lock files: named in the environment, a SLURM job's, or shared."""
    if named := environment.get(LOCKS):
        if not Path(named).is_dir():
            raise InputError(f"no such folder: {named}", file="environment", field=LOCKS)
        return Path(named)
    if job := environment.get("SLURM_JOB_ID"):
        folder = Path(tempfile.gettempdir()) / f"matched-eval-gpus-{job}-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            raise InputError("belongs to somebody else", file=folder, remedy="Have it removed")
        return folder
    for folder in _SHARED:
        mode = folder.stat().st_mode if folder.is_dir() else 0
        if mode & stat.S_IWOTH and mode & stat.S_ISVTX:
            return folder
    raise InputError(
        "no folder is shared by all users: " + ", ".join(map(str, _SHARED)),
        remedy=f"Name one in the environment variable {LOCKS}",
    )


def reserve_gpus(number: int) -> None:
    """Reserve GPUs for this process until it ends, and make them the only ones visible to it."""
    if number:
        os.environ[VISIBLE] = reserve_when_free(number, visible_gpus(os.environ), lock_folder())
        LOGGER.info("on GPU %s", os.environ[VISIBLE])


def _try_to_reserve(number: int, names: Sequence[str], folder: Path) -> list[str]:
    """Lock `number` devices and return their names; lock none if fewer are free."""
    locked: dict[str, int] = {}
    for name in names:
        handle = _open_lock_file(
            folder / f"matched-eval-gpu-{re.sub(r'[^A-Za-z0-9.-]', '_', name)}.lock"
        )
        if handle is None:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            continue
        locked[name] = handle
        if len(locked) == number:
            return list(locked)
    for lock in locked.values():
        os.close(lock)
    return []


def _open_lock_file(file: Path) -> int | None:
    """Open or create a lock file; None if another user is creating it, so that a retry helps.

    It is opened for reading, which suffices for a lock: systems that protect files in sticky
    folders (`fs.protected_regular`) let nobody open the files of others with O_CREAT.
    """
    for flags in (0, os.O_CREAT | os.O_EXCL, 0):  # the last for one made between the two
        try:
            handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | flags, 0o644)
        except (FileNotFoundError, FileExistsError):
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
