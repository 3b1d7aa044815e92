"""Files that are whole or absent, and what identifies their contents."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`, renamed to it once the block succeeds.

    A reader never sees a half-written file: a block that raises, or a process that is killed,
    leaves `path` as it was. The temporary name is fixed, so that what a killed process leaves
    is overwritten by the next try rather than gathered; it keeps the suffix, by which some
    writers choose their format.

    Parameters
    ----------
    path : path-like
        Where the finished file goes; missing parent folders are made.

    Yields
    ------
    Path
        Where to write.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    partial = final.with_name(f".partial-{final.name}")
    try:
        yield partial
        partial.replace(final)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def sha256_of_file(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
