"""Disk space, permission to write, locks, processors and memory."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from matcheval.health.findings import NOTE, OK, PROBLEM, Finding

_GB = 10**9
_LITTLE, _TOO_LITTLE = 5 * _GB, _GB // 2
_MOVE = "Free some space, or name a folder on another disk"


def check_processors() -> Iterator[Finding]:
    """Count the processors that this process may use, and the memory."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield Finding("processors", OK, f"{cores} cores, {memory / _GB:.0f} GB of memory")


def check_folders(results: Path) -> Iterator[Finding]:
    """Check the folders that are written to: results, and temporary files."""
    yield from _check_folder("results", results, f"`results:` in the study file ({_MOVE.lower()})")
    temporary = Path(tempfile.gettempdir())
    yield from _check_folder("temporary files", temporary, "the environment variable TMPDIR")


def _check_folder(subject: str, folder: Path, setting: str) -> Iterator[Finding]:
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    where = str(folder.absolute())
    if not there.is_dir():
        yield Finding(subject, PROBLEM, f"{there} is no folder", f"Name another one: {setting}")
        return
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(b"\0" * 4096)
            file.flush()
            yield from _check_lock(file.fileno(), subject, where)
    except OSError as error:
        yield Finding(
            subject, PROBLEM, f"{where} cannot be written ({error.strerror})",
            f"Name another one: {setting}",
        )  # fmt: skip
        return
    free = shutil.disk_usage(there).free
    state = OK if free >= _LITTLE else NOTE if free >= _TOO_LITTLE else PROBLEM
    yield Finding(
        subject, state, f"{where}: can be written, {free / _GB:,.1f} GB free",
        "" if state == OK else f"{_MOVE}: {setting}",
    )  # fmt: skip


def _check_lock(file: int, subject: str, where: str) -> Iterator[Finding]:
    """Check that files can be locked, which some network file systems do not offer."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        yield Finding(
            subject, PROBLEM, f"files in {where} cannot be locked ({error.strerror})",
            "Ask for locks (NFS: mount with `lock`), or use another folder; runs at the same time "
            "would write over each other",
        )  # fmt: skip
