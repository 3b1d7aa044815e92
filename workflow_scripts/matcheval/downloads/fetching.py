"""The downloader: a file whole and verified, or a clear error and what to do by hand."""

import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from matcheval.downloads.checksums import Expected, verify_file
from matcheval.downloads.sources import PublishedFile
from matcheval.downloads.transfer import MissingError, TransferError, forget, transfer
from matcheval.errors import InputError
from matcheval.io.files import file_lock

ATTEMPTS = 5
LONGEST_WAIT_S = 60.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Downloaded:
    """A file that is in place.

    Attributes
    ----------
    path : Path
        Where.
    sha256 : str
        Its checksum.
    verified : bool
        Whether it was compared with a published checksum.
    """

    path: Path
    sha256: str
    verified: bool


def download(
    url: str | Sequence[str],
    path: str | os.PathLike[str],
    *,
    sha256: str | None = None,
    md5: str | None = None,
    size: int | None = None,
    mirror: str | None = None,
    attempts: int = ATTEMPTS,
    progress: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> Downloaded:
    """Get a file, unless it is there already.

    The bytes are gathered in `<path>.part`, which takes the name `path` once its checksum is
    right. What an interrupted download left is continued by the next one, in this process or
    another; two that want one file at once take turns, and the second finds it.

    Parameters
    ----------
    url : str or sequence of str
        Where the file is published; further places are tried if the first does not have it.
    path : path-like
        Where it goes. A file that is there - put there by hand, say - is verified and taken.
    sha256, md5 : str, optional
        Published checksum; without one the file is taken as it comes, with a warning.
    size : int, optional
        Its bytes, if known.
    mirror : str, optional
        Folder, or `file://` or `http(s)://` address, that replaces every host: the file is looked
        for right in it, by the name of `path`.
    attempts : int
        How often to try one address without any progress; the waits between are 1, 2, 4, ... s,
        or what the server asks for, up to a minute.
    progress : bool
        Whether to draw a progress bar.
    sleep : callable
        Waits for so many seconds.

    Raises
    ------
    InputError
        Saying which file, from where, its checksum, and where to put it by hand; or that the disk
        is full, or the file is another than published.
    """
    path, expected = Path(path), Expected(sha256, md5, size)
    places = _places([url] if isinstance(url, str) else list(url), path.name, mirror)
    with file_lock(path):
        if path.exists():
            return _taken(path, expected)
        partial = path.with_name(f"{path.name}.part")
        failures = []
        for place in places:
            try:
                _attempt(place, partial, expected, attempts, progress, sleep)
                found = _verified(place, partial, expected, attempts, progress, sleep)
            except (MissingError, TransferError, _OtherFileError) as error:
                failures.append(f"{place}: {error}")
                continue
            partial.replace(path)
            forget(partial)
            log.info("%s: from %s, SHA-256 %s", path.name, place, found)
            return Downloaded(path, found, expected.has_checksum)
        raise InputError(
            f"could not be had from {'; '.join(failures)} ({expected})",
            file=path.name,
            remedy=f"Try again later, or put the file at {path} by hand, or into a folder that "
            "the configuration names as 'mirror'",
        )


def download_published(
    file: PublishedFile, folder: str | os.PathLike[str], mirror: str | None = None,
    *, progress: bool = False,
) -> Downloaded:  # fmt: skip
    """Get a published file into a folder, under its name (see `download`)."""
    return download(
        file.urls, Path(folder) / file.name, sha256=file.sha256, md5=file.md5, size=file.size,
        mirror=mirror, progress=progress,
    )  # fmt: skip


class _OtherFileError(Exception):
    """A place gives something else than was published."""


def _places(urls: list[str], name: str, mirror: str | None) -> list[str]:
    if not mirror:
        return urls
    if urlsplit(mirror).scheme in ("http", "https", "file"):
        return [f"{mirror.rstrip('/')}/{quote(name)}"]
    return [str(Path(mirror).expanduser() / name)]


def _attempt(
    place: str, partial: Path, expected: Expected, attempts: int, progress: bool,
    sleep: Callable[[float], None],
) -> None:  # fmt: skip
    """Transfer a file with repeated tries; any progress makes the count begin anew."""
    failed, before = 0, _size(partial)
    while True:
        try:
            transfer(place, partial, progress=progress, verified=expected.has_checksum)
            return
        except TransferError as error:
            failed = 1 if _size(partial) > before else failed + 1
            before = _size(partial)
            if failed >= attempts:
                raise
            wait = min(LONGEST_WAIT_S, error.wait_s or 2.0 ** (failed - 1))
            log.warning("%s: %s; trying again in %.0f s", place, error, wait)
            sleep(wait)


def _verified(
    place: str, partial: Path, expected: Expected, attempts: int, progress: bool,
    sleep: Callable[[float], None],
) -> str:  # fmt: skip
    """Check what came; bytes gathered in several attempts get a second chance, in one piece."""
    for last in (False, True):
        try:
            found = verify_file(partial, expected)
        except InputError as error:
            forget(partial)
            if last:
                reason = str(error).removeprefix(f"{partial}: ")
                raise _OtherFileError(
                    f"what it gives {reason}; another file than was published, or damaged"
                ) from error
            log.warning("%s; downloading it once more", error)
            _attempt(place, partial, expected, attempts, progress, sleep)
        else:
            if not expected.has_checksum:
                log.warning("%s: no checksum is published; taken as it came", partial.stem)
            return found
    raise AssertionError("not reached")


def _taken(path: Path, expected: Expected) -> Downloaded:
    try:
        found = verify_file(path, expected)
    except InputError as error:
        raise InputError(
            str(error),
            remedy="Delete it, or put the right file there",
        ) from error
    if not expected.has_checksum:
        log.warning("%s: no checksum is published; taken as it is", path)
    return Downloaded(path, found, expected.has_checksum)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
