"""Files that are whole or absent."""

import glob
import os
import platform
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
        yield partial
        partial.replace(final)
    except PermissionError as error:
        raise InputError(f"cannot be written ({error.strerror})", file=path) from error
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


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
