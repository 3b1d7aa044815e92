"""Files that are whole or absent."""

import errno
import glob
import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from matcheval.errors import InputError


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`, renamed to it once the block succeeds.

    A reader never sees a half-written file: a block that raises, or a process that is killed,
    leaves `path` as it was. The temporary name holds host and process, so that two writers of
    one path do not meet; what a process left that was killed on this host is removed by the next
    writer. It keeps the suffix, by which some writers choose their format.

    Parameters
    ----------
    path : path-like
        Where the finished file goes; missing parent folders are made.

    Yields
    ------
    Path
        Where to write.

    Raises
    ------
    InputError
        If the place cannot be written to.
    """
    final = Path(path)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", file=path) from error
    start = f".partial-{platform.node()}-"
    for left in final.parent.glob(f"{glob.escape(start)}*-{glob.escape(final.name)}"):
        if not _is_alive(left.name.removeprefix(start).split("-")[0]):
            left.unlink(missing_ok=True)
    partial = final.with_name(f"{start}{os.getpid()}-{final.name}")
    try:
        with disk_errors(final):
            yield partial
            partial.replace(final)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def disk_errors(path: Path, needed: int = 0) -> Iterator[None]:
    """Say in plain words that a file cannot be written, or the disk is full.

    Parameters
    ----------
    path : Path
        What the block writes.
    needed : int
        Bytes that it will write: refused at once if the disk has less.

    Raises
    ------
    InputError
        Naming the file, and what is free.
    """
    free = shutil.disk_usage(path.parent).free if needed else 0
    if needed > free:
        raise _disk_full(path, f"{needed:,} bytes are needed")
    try:
        yield
    except PermissionError as error:
        raise InputError(f"cannot be written ({error.strerror})", file=path) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _disk_full(path, str(error.strerror)) from error
        raise


def _disk_full(path: Path, why: str) -> InputError:
    free = shutil.disk_usage(path.parent).free
    return InputError(
        f"the disk is full: {why}, {free:,} are free in {path.parent.resolve()}",
        file=path,
        remedy="Make room, or set 'results' to a folder on another disk; what was made so far is "
        "kept",
    )


@contextmanager
def file_lock(path: str | os.PathLike[str]) -> Iterator[bool]:
    """Let one process at a time make a file or folder; others wait.

    The lock is a hidden file beside it, which stays; it is let go when its process dies.

    Parameters
    ----------
    path : path-like
        What is made; missing parent folders are made.

    Yields
    ------
    bool
        Whether this process had to wait, so that it may find the work done.
    """
    from filelock import FileLock, Timeout  # needed by few

    path = Path(path)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    waited = False
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waited = True
        lock.acquire()
    try:
        yield waited
    finally:
        lock.release()


def _is_alive(pid: str) -> bool:
    """Whether a process of this host runs; True where it cannot be told."""
    if os.name == "nt":  # where signal 0 does more than ask
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OSError):
        return True
    return True
