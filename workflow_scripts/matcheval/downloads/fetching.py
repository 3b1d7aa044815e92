"""Downloading published files: retries, alternative addresses, mirrors and verification.

An attempt appends the missing bytes to a partial file beside the final one; which version of which
file it belongs to is saved next to it, so that a later attempt, or process, can continue it.
"""

import json
import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import quote, unquote, urlsplit

import requests
import urllib3
from tqdm import tqdm

from matcheval.downloads.sources import Expected, check_format, verify_file
from matcheval.errors import InputError
from matcheval.io.files import disk_errors, file_lock, write_text

ATTEMPTS = 5
LONGEST_WAIT_S = 60.0
HOURS = 24.0
LEAST_RATE = 1000.0  # bytes per second
CHUNK_BYTES = 1 << 20
TIMEOUT_S = (15, 60)  # to connect, and between received bytes
_TEMPORARY = (408, 425, 429, 500, 502, 503, 504)
_RATE_WINDOW_S = 60.0  # over which the rate of a transfer is measured

_UNKNOWN = Expected()

log = logging.getLogger(__name__)


class TransferError(Exception):
    """A download attempt failed, and trying again may succeed."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class SlowError(TransferError):
    """A download attempt failed because the server sends too slowly."""


class MissingError(Exception):
    """The server does not have the expected file, so trying again would fail too."""


def download(
    url: str | Sequence[str], path: str | os.PathLike[str], expected: Expected = _UNKNOWN, *,
    mirror: str | None = None, mirror_path: str = "", hours: float = HOURS, progress: bool = False,
) -> str:  # fmt: skip
    """Download and verify a file, unless it exists already; return its SHA-256.

    A mirror, which is a folder or an address, has the file as `mirror_path`, or under its name.
    """
    path, end = Path(path), monotonic() + 3600 * hours
    part = path.with_name(f"{path.name}.part")
    job = _Download(part, expected, end, progress)
    with file_lock(path):
        if not expected.has_checksum:
            log.warning("%s: no checksum is published; the file is not verified", path.name)
        if path.exists():
            try:
                return verify_file(path, expected)
            except InputError as error:
                remedy = "Delete it, or replace it by the published file"
                raise InputError(str(error), remedy=remedy) from error
        failures = []
        urls = [url] if isinstance(url, str) else list(url)
        for address in _addresses_to_try(urls, mirror_path or path.name, mirror):
            try:
                sha256 = job.fetch(address)
            except (MissingError, TransferError) as error:
                failures.append(f"{address}: {error}")
                continue
            part.replace(path)
            job.discard()
            log.info("%s: from %s, SHA-256 %s", path.name, address, sha256)
            return sha256
        by_hand = f"put the file at {path} by hand, or into a folder that you set as 'mirror'"
        raise InputError(
            f"could not be downloaded from {'; '.join(failures)} ({expected})", file=path.name,
            remedy=f"Try again later, or {by_hand} in the configuration",
        )  # fmt: skip


def _addresses_to_try(urls: list[str], name: str, mirror: str | None) -> list[str]:
    if not mirror:
        return urls
    if urlsplit(mirror).scheme in ("http", "https", "file"):
        return [f"{mirror.rstrip('/')}/{quote(name)}"]
    return [str(Path(mirror).expanduser() / name)]


@dataclass(frozen=True)
class _FileVersion:
    """Which version of which file a partial file belongs to; saved beside it."""

    url: str
    etag: str = ""
    modified: str = ""
    total: int = 0  # bytes; 0 if unknown

    @classmethod
    def from_headers(cls, url: str, headers: Mapping[str, str], total: int) -> "_FileVersion":
        """Create it from the headers of a response."""
        return cls(url, headers.get("ETag", ""), headers.get("Last-Modified", ""), total)

    @property
    def validator(self) -> str:
        """Value of the header `If-Range`, which does not allow weak tags (RFC 9110, 13.1.5)."""
        return self.modified if self.etag.startswith("W/") or not self.etag else self.etag

    def matches(self, other: "_FileVersion") -> bool:
        """Whether tags, dates and sizes are equal, as far as both are known."""
        keys = ("etag", "modified", "total")
        values = ((getattr(self, key), getattr(other, key)) for key in keys)
        return all(ours == theirs or not (ours and theirs) for ours, theirs in values)


@dataclass(frozen=True)
class _Download:
    """A download of one file: its partial file, what it must be, and when to give up."""

    partial: Path
    expected: Expected
    end: float
    progress: bool

    def fetch(self, address: str, *, retry: bool = True) -> str:
        """Transfer the file, once more if it is not as expected, and return its SHA-256."""
        self._transfer_with_retries(address)
        try:
            if not self.expected.has_checksum:
                check_format(self.partial, self.partial.stem)
            return verify_file(self.partial, self.expected)
        except InputError as error:
            self.discard()
            if not retry:
                reason = str(error).removeprefix(f"{self.partial}: ")
                problem = f"the received file {reason}: it is damaged, or not the published one"
                raise MissingError(problem) from error
            log.warning("%s; downloading it once more", error)
        return self.fetch(address, retry=False)

    def discard(self) -> None:
        """Delete the partial file and the record of its version."""
        for path in (self.partial, self._version_file):
            path.unlink(missing_ok=True)

    def _transfer_with_retries(self, address: str) -> None:
        """Transfer the file in several attempts, counted anew after progress that is not slow."""
        failed, most = 0, self._partial_size
        while True:
            try:
                return self._transfer(address)
            except TransferError as error:
                # A server that answers ranges wrongly sends the same bytes again and again.
                is_progress = self._partial_size > most and not isinstance(error, SlowError)
                failed = 1 if is_progress else failed + 1
                most = max(most, self._partial_size)
                wait = min(LONGEST_WAIT_S, error.wait_s or 2.0 ** (failed - 1))
                if failed >= ATTEMPTS or monotonic() + wait > self.end:
                    raise
                log.warning("%s: %s; trying again in %.0f s", address, error, wait)
                sleep(wait)

    def _transfer(self, address: str) -> None:
        """Transfer the missing bytes from a server, or all of a local file, in one attempt."""
        parts = urlsplit(address)
        if parts.scheme in ("http", "https"):
            try:
                return self._transfer_from_server(address)
            except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
                raise TransferError(_innermost_message(error)) from error
        source = Path(unquote(parts.path) if parts.scheme == "file" else address)
        if not source.is_file():
            raise MissingError("no such file")
        self.discard()
        with disk_errors(self.partial, source.stat().st_size):
            shutil.copyfile(source, self.partial)

    def _transfer_from_server(self, url: str) -> None:
        version = self._read_version(url)
        start = self._partial_size if version else 0
        headers = {"Accept-Encoding": "identity"}
        if version and start:
            headers["Range"] = f"bytes={start}-"
            if version.validator:
                headers["If-Range"] = version.validator
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as response:
            status = f"HTTP {response.status_code} {response.reason}"
            if response.status_code == 416:  # no bytes left: it is complete, or of another version
                if version is None or start != version.total:
                    self.discard()
                    raise TransferError("the server's file is shorter than the part from earlier")
                return
            if response.status_code in _TEMPORARY:
                wait_s = _requested_wait(response.headers.get("Retry-After", ""))
                raise TransferError(status, wait_s)
            if response.status_code not in (200, 206):
                raise MissingError(status)
            start, total = self._byte_range(response, version, start)
            new = asdict(_FileVersion.from_headers(url, response.headers, total))
            write_text(self._version_file, json.dumps(new))
            if self.expected.size is not None and total not in (0, self.expected.size):
                raise MissingError(f"it has {total:,} bytes, not {self.expected.size:,}")
            self._append(response, start, total)

    def _byte_range(
        self, response: requests.Response, version: _FileVersion | None, start: int
    ) -> tuple[int, int]:
        """Return the offset of a response's first byte, and the whole file's size, 0 if unknown."""
        headers = response.headers
        if response.status_code == 200:
            return 0, response.raw.length_remaining or 0
        pattern = r"bytes ([0-9]+)-[0-9]+/([0-9]+|\*)"
        range_ = re.fullmatch(pattern, headers.get("Content-Range", ""))
        total = int(range_[2]) if range_ and range_[2] != "*" else 0
        new = _FileVersion.from_headers(response.url, headers, total)
        if not range_ or int(range_[1]) != start or version is None or not version.matches(new):
            self.discard()
            raise TransferError("the file has changed since, or the server sent another range")
        return start, total

    def _append(self, response: requests.Response, start: int, total: int) -> None:
        """Write a response to the partial file, from offset `start` on; refuse a wrong length."""
        bar = tqdm(
            total=total or None, initial=start, desc=self.partial.stem, unit="B",
            unit_scale=True, disable=not self.progress,
        )  # fmt: skip
        enough = disk_errors(self.partial, max(0, total - start))
        with bar, enough, self.partial.open("r+b" if start else "wb") as file:
            file.seek(start)
            # Without decoding: some servers send archives as `Content-Encoding: gzip`.
            read = partial(response.raw.read1, CHUNK_BYTES, decode_content=False)
            for chunk in self._limit_time(iter(read, b"")):
                file.write(chunk)
                bar.update(len(chunk))
                if self.expected.size is not None and file.tell() > self.expected.size:
                    raise MissingError(f"it has more than {self.expected.size:,} bytes")
            end = file.tell()
        if total and end != total:
            raise TransferError(f"the connection ended after {end:,} of {total:,} bytes")

    def _limit_time(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield chunks; raise an error once the time is over, or if they come too slowly."""
        began, received = monotonic(), 0
        for chunk in chunks:
            yield chunk
            received += len(chunk)
            now = monotonic()
            if now > self.end:
                raise MissingError("the time for this download is over")
            if now - began > _RATE_WINDOW_S:
                if received < LEAST_RATE * (now - began):
                    raise SlowError(f"it sent {received:,} bytes in {now - began:.0f} s")
                began, received = now, 0

    @property
    def _partial_size(self) -> int:
        return self.partial.stat().st_size if self.partial.exists() else 0

    @property
    def _version_file(self) -> Path:
        return self.partial.with_name(f"{self.partial.name}.json")

    def _read_version(self, url: str) -> _FileVersion | None:
        """Read the version of the partial file; delete a file that cannot be continued."""
        try:
            version = _FileVersion(**json.loads(self._version_file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            version = None
        safe = self.expected.has_checksum or (version and version.url == url and version.validator)
        if version is None or not self.partial.is_file() or not safe:
            self.discard()  # it might be continued with bytes of another version
            return None
        # Tags and dates of different servers are not comparable; only the size is.
        return version if version.url == url else _FileVersion(url, total=version.total)


def _requested_wait(text: str) -> float | None:
    """Return the seconds to wait by a header `Retry-After`, a number or a date; None if invalid."""
    with suppress(urllib3.exceptions.InvalidHeader, ValueError, OverflowError):
        return float(urllib3.Retry().parse_retry_after(text))
    return None


def _innermost_message(error: Exception) -> str:
    """Return the message of the innermost exception, without those of urllib3 around it."""
    inner: BaseException = error
    while inner.__cause__ or inner.__context__:
        inner = inner.__cause__ or inner.__context__ or inner
    return str(inner) or type(inner).__name__
