"""Downloading published files: retries, alternative addresses, mirrors and verification."""

import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote, urlsplit

from matcheval.downloads.checksums import Expected, verify_file
from matcheval.downloads.formats import check_format
from matcheval.downloads.limits import HOURS, LEAST_RATE, Limits
from matcheval.downloads.transfer import (
    MissingError,
    SlowError,
    TransferError,
    delete_partial,
    transfer,
)
from matcheval.errors import InputError
from matcheval.io.files import file_lock

ATTEMPTS = 5
LONGEST_WAIT_S = 60.0

log = logging.getLogger(__name__)


def download(
    url: str | Sequence[str],
    path: str | os.PathLike[str],
    *,
    sha256: str | None = None,
    md5: str | None = None,
    size: int | None = None,
    mirror: str | None = None,
    attempts: int = ATTEMPTS,
    hours: float = HOURS,
    least_rate: float = LEAST_RATE,
    progress: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Download a file, unless it exists already."""
    path, expected = Path(path), Expected(sha256, md5, size)
    addresses = _addresses([url] if isinstance(url, str) else list(url), path.name, mirror)
    limits = Limits(time.monotonic() + 3600 * hours, least_rate, size)
    with file_lock(path):
        if not expected.has_checksum:
            log.warning("%s: no checksum is published; the file is not verified", path.name)
        if path.exists():
            return _verified(path, expected)
        partial = path.with_name(f"{path.name}.part")
        failures = []
        for address in addresses:
            try:
                found = _fetched(address, partial, expected, limits, attempts, progress, sleep)
            except (MissingError, TransferError) as error:
                failures.append(f"{address}: {error}")
                continue
            partial.replace(path)
            delete_partial(partial)
            log.info("%s: from %s, SHA-256 %s", path.name, address, found)
            return found
        raise InputError(
            f"could not be downloaded from {'; '.join(failures)} ({expected})",
            file=path.name,
            remedy=f"Try again later, or put the file at {path} by hand, or into a folder that you "
            "set as 'mirror' in the configuration",
        )


def _addresses(urls: list[str], name: str, mirror: str | None) -> list[str]:
    if not mirror:
        return urls
    if urlsplit(mirror).scheme in ("http", "https", "file"):
        return [f"{mirror.rstrip('/')}/{quote(name)}"]
    return [str(Path(mirror).expanduser() / name)]


def _attempt(
    address: str, partial: Path, expected: Expected, limits: Limits, attempts: int, progress: bool,
    sleep: Callable[[float], None],
) -> None:  # fmt: skip
    """Transfer a file with repeated attempts; the count restarts after any progress."""
    failed, most = 0, _size(partial)
    while True:
        try:
            transfer(address, partial, limits, progress=progress, verified=expected.has_checksum)
            return
        except TransferError as error:
            # A server that answers ranges wrongly sends the same bytes again and again.
            is_progress = _size(partial) > most and not isinstance(error, SlowError)
            failed = 1 if is_progress else failed + 1
            most = max(most, _size(partial))
            wait = min(LONGEST_WAIT_S, error.wait_s or 2.0 ** (failed - 1))
            if failed >= attempts or time.monotonic() + wait > limits.end:
                raise
            log.warning("%s: %s; trying again in %.0f s", address, error, wait)
            sleep(wait)


def _fetched(
    address: str, partial: Path, expected: Expected, limits: Limits, attempts: int, progress: bool,
    sleep: Callable[[float], None], *, again: bool = True,
) -> str:  # fmt: skip
    """Transfer a file and verify it; if it is not what is expected, once more from the start."""
    _attempt(address, partial, expected, limits, attempts, progress, sleep)
    try:
        if not expected.has_checksum:
            check_format(partial, partial.stem)
        return verify_file(partial, expected)
    except InputError as error:
        delete_partial(partial)
        if not again:
            reason = str(error).removeprefix(f"{partial}: ")
            raise MissingError(
                f"the received file {reason}: it is damaged, or not the published one"
            ) from error
        log.warning("%s; downloading it once more", error)
    return _fetched(address, partial, expected, limits, attempts, progress, sleep, again=False)


def _verified(path: Path, expected: Expected) -> str:
    """Verify a file that was there before."""
    try:
        return verify_file(path, expected)
    except InputError as error:
        raise InputError(
            str(error), remedy="Delete it, or replace it by the published file"
        ) from error


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
