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
from matcheval.io.files import atomic_file, disk_errors, file_lock

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
    """A failed attempt that may succeed if it is repeated."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class SlowError(TransferError):
    """A failed attempt because the server sends too slowly."""


class MissingError(Exception):
    """The server has no such file or a different one, so another attempt would fail too."""


def download(
    url: str | Sequence[str], path: str | os.PathLike[str], expected: Expected = _UNKNOWN, *,
    mirror: str | None = None, mirrored: str = "", hours: float = HOURS, progress: bool = False,
) -> str:  # fmt: skip
    """Download a file, unless it exists already; a mirror has it as `mirrored`, or by its name."""
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
        for address in _addresses(urls, mirrored or path.name, mirror):
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


def _addresses(urls: list[str], name: str, mirror: str | None) -> list[str]:
    if not mirror:
        return urls
    if urlsplit(mirror).scheme in ("http", "https", "file"):
        return [f"{mirror.rstrip('/')}/{quote(name)}"]
    return [str(Path(mirror).expanduser() / name)]


@dataclass(frozen=True)
class _State:
    """Which version of which file a partial file belongs to; saved beside it."""

    url: str
    etag: str = ""
    modified: str = ""
    total: int = 0  # bytes; 0 if unknown

    @classmethod
    def of(cls, url: str, headers: Mapping[str, str], total: int) -> "_State":
        """Create the state from the headers of a response."""
        return cls(url, headers.get("ETag", ""), headers.get("Last-Modified", ""), total)

    @property
    def validator(self) -> str:
        """Value of the header `If-Range`, which does not allow weak tags (RFC 9110, 13.1.5)."""
        return self.modified if self.etag.startswith("W/") or not self.etag else self.etag

    def agrees(self, other: "_State") -> bool:
        """Whether tags, dates and sizes are equal, as far as both are known."""
        keys = ("etag", "modified", "total")
        values = ((getattr(self, key), getattr(other, key)) for key in keys)
        return all(one == two or not (one and two) for one, two in values)


@dataclass(frozen=True)
class _Download:
    """What a partial file is to become, and when it is given up."""

    partial: Path
    expected: Expected
    end: float
    progress: bool

    def fetch(self, address: str, *, again: bool = True) -> str:
        """Transfer the file and verify it; if it is not what is expected, once more."""
        self._attempt(address)
        try:
            if not self.expected.has_checksum:
                check_format(self.partial, self.partial.stem)
            return verify_file(self.partial, self.expected)
        except InputError as error:
            self.discard()
            if not again:
                reason = str(error).removeprefix(f"{self.partial}: ")
                problem = f"the received file {reason}: it is damaged, or not the published one"
                raise MissingError(problem) from error
            log.warning("%s; downloading it once more", error)
        return self.fetch(address, again=False)

    def discard(self) -> None:
        """Delete the partial file and the record of its version."""
        for path in (self.partial, self._state_file):
            path.unlink(missing_ok=True)

    def _attempt(self, address: str) -> None:
        """Transfer the file with repeated attempts; the count restarts after any progress."""
        failed, most = 0, self._size
        while True:
            try:
                return self._transfer(address)
            except TransferError as error:
                # A server that answers ranges wrongly sends the same bytes again and again.
                is_progress = self._size > most and not isinstance(error, SlowError)
                failed = 1 if is_progress else failed + 1
                most = max(most, self._size)
                wait = min(LONGEST_WAIT_S, error.wait_s or 2.0 ** (failed - 1))
                if failed >= ATTEMPTS or monotonic() + wait > self.end:
                    raise
                log.warning("%s: %s; trying again in %.0f s", address, error, wait)
                sleep(wait)

    def _transfer(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https"):
            try:
                return self._from_server(address)
            except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
                raise TransferError(_reason(error)) from error
        source = Path(unquote(parts.path) if parts.scheme == "file" else address)
        if not source.is_file():
            raise MissingError("no such file")
        self.discard()
        with disk_errors(self.partial, source.stat().st_size):
            shutil.copyfile(source, self.partial)

    def _from_server(self, url: str) -> None:
        state = self._read_state(url)
        start = self._size if state else 0
        headers = {"Accept-Encoding": "identity"}
        if state and start:
            headers["Range"] = f"bytes={start}-"
            if state.validator:
                headers["If-Range"] = state.validator
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as response:
            status = f"HTTP {response.status_code} {response.reason}"
            if response.status_code == 416:  # no bytes left: it is complete, or of another version
                if state is None or start != state.total:
                    self.discard()
                    raise TransferError("the server's file is shorter than the part from earlier")
                return
            if response.status_code in _TEMPORARY:
                wait_s = _requested_wait(response.headers.get("Retry-After", ""))
                raise TransferError(status, wait_s)
            if response.status_code not in (200, 206):
                raise MissingError(status)
            start, total = self._byte_range(response, state, start)
            with atomic_file(self._state_file) as path:
                new = asdict(_State.of(url, response.headers, total))
                path.write_text(json.dumps(new), encoding="utf-8")
            if self.expected.size is not None and total not in (0, self.expected.size):
                raise MissingError(f"it has {total:,} bytes, not {self.expected.size:,}")
            self._append(response, start, total)

    def _byte_range(
        self, response: requests.Response, state: _State | None, start: int
    ) -> tuple[int, int]:
        """Offset of the response's first byte, and size of the complete file (0 if unknown)."""
        headers = response.headers
        if response.status_code == 200:
            return 0, response.raw.length_remaining or 0
        pattern = r"bytes ([0-9]+)-[0-9]+/([0-9]+|\*)"
        range_ = re.fullmatch(pattern, headers.get("Content-Range", ""))
        total = int(range_[2]) if range_ and range_[2] != "*" else 0
        new = _State.of(response.url, headers, total)
        if not range_ or int(range_[1]) != start or state is None or not state.agrees(new):
            self.discard()
            raise TransferError("the file has changed since, or the server sent another range")
        return start, total

    def _append(self, response: requests.Response, start: int, total: int) -> None:
        bar = tqdm(
            total=total or None, initial=start, desc=self.partial.stem, unit="B",
            unit_scale=True, disable=not self.progress,
        )  # fmt: skip
        enough = disk_errors(self.partial, max(0, total - start))
        with bar, enough, self.partial.open("r+b" if start else "wb") as file:
            file.seek(start)
            # Without decoding: some servers send archives as `Content-Encoding: gzip`.
            read = partial(response.raw.read1, CHUNK_BYTES, decode_content=False)
            for chunk in self._in_time(iter(read, b"")):
                file.write(chunk)
                bar.update(len(chunk))
                if self.expected.size is not None and file.tell() > self.expected.size:
                    raise MissingError(f"it has more than {self.expected.size:,} bytes")
            end = file.tell()
        if total and end != total:
            raise TransferError(f"the connection ended after {end:,} of {total:,} bytes")

    def _in_time(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield chunks until one comes after the end, or until they come too slowly."""
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
    def _size(self) -> int:
        return self.partial.stat().st_size if self.partial.exists() else 0

    @property
    def _state_file(self) -> Path:
        return self.partial.with_name(f"{self.partial.name}.json")

    def _read_state(self, url: str) -> _State | None:
        """Read the state of the partial file; delete one that cannot be continued."""
        try:
            state = _State(**json.loads(self._state_file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            state = None
        known = self.expected.has_checksum or (state and state.url == url and state.validator)
        if state is None or not self.partial.is_file() or not known:
            self.discard()  # it might be continued with bytes of another version
            return None
        # Tags and dates of different servers are not comparable; only the size is.
        return state if state.url == url else _State(url, total=state.total)


def _requested_wait(text: str) -> float | None:
    """Seconds that a header `Retry-After` asks for, as a number or as a date."""
    with suppress(urllib3.exceptions.InvalidHeader, ValueError, OverflowError):
        return float(urllib3.Retry().parse_retry_after(text))
    return None


def _reason(error: Exception) -> str:
    """Message of the innermost exception, without those that urllib3 wraps around it."""
    inner: BaseException = error
    while inner.__cause__ or inner.__context__:
        inner = inner.__cause__ or inner.__context__ or inner
    return str(inner) or type(inner).__name__
