"""One attempt to get a file: the bytes that are missing, appended to what is there."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import requests
import urllib3
from tqdm import tqdm

from matcheval.io.files import disk_errors, whole_file

CHUNK_BYTES = 1 << 20
TIMEOUT_S = (15, 60)  # to connect; between bytes
_PASSING = (408, 425, 429, 500, 502, 503, 504)


class TransferError(Exception):
    """An attempt that failed and may succeed another time.

    Parameters
    ----------
    reason : str
        What went wrong.
    wait_s : float or None
        How long the server asks to wait.
    """

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class MissingError(Exception):
    """A place that does not have the file, and will not: the next one may."""


@dataclass(frozen=True)
class _State:
    """What a partial file is a part of, kept beside it."""

    url: str
    etag: str = ""
    modified: str = ""
    total: int = -1

    @classmethod
    def of(cls, url: str, headers: Mapping[str, str], total: int) -> "_State":
        return cls(url, headers.get("ETag", ""), headers.get("Last-Modified", ""), total)

    @property
    def validator(self) -> str:
        """What `If-Range` takes: weak tags are not allowed there."""
        return self.modified if self.etag.startswith("W/") or not self.etag else self.etag

    def agrees(self, other: "_State") -> bool:
        return all(
            not a or not b or a == b
            for a, b in ((self.etag, other.etag), (self.modified, other.modified))
        ) and (self.total == other.total or -1 in (self.total, other.total))


def transfer(url: str, partial: Path, *, progress: bool, verified: bool = False) -> None:
    """Complete a partial file from a URL.

    Parameters
    ----------
    url : str
        `http(s)://`, `file://`, or a path.
    partial : Path
        What earlier attempts left, if anything; a file beside it says of what version it is a
        part. Where the server has another version by now, or no ranges, it is begun anew.
    progress : bool
        Whether to draw a progress bar.
    verified : bool
        Whether the whole file's checksum will be compared, so that what another address gave may
        be gone on with.

    Raises
    ------
    TransferError
        If another attempt may help; what came so far is kept.
    MissingError
        If the file is not there.
    InputError
        If the disk is full or cannot be written to.
    """
    parts = urlsplit(url)
    if parts.scheme in ("http", "https"):
        try:
            _from_server(url, partial, progress, verified)
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise TransferError(_reason(error)) from error
        return
    source = Path(unquote(parts.path) if parts.scheme == "file" else url)
    if not source.is_file():
        raise MissingError("no such file")
    forget(partial)
    with (
        disk_errors(partial, source.stat().st_size),
        source.open("rb") as file,
        partial.open("wb") as copy,
    ):
        shutil.copyfileobj(file, copy, CHUNK_BYTES)


def forget(partial: Path) -> None:
    """Delete a partial file and what is known of it."""
    for path in (partial, _state_file(partial)):
        path.unlink(missing_ok=True)


def _from_server(url: str, partial: Path, progress: bool, verified: bool) -> None:
    state = _read_state(partial, url, verified)
    start = partial.stat().st_size if state else 0
    headers = {"Accept-Encoding": "identity"}
    if state and start:
        headers["Range"] = f"bytes={start}-"
        if state.validator:
            headers["If-Range"] = state.validator
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as response:
        if response.status_code == 416:  # nothing follows: it is whole, or of another version
            if state is None or start != state.total:
                forget(partial)
                raise TransferError("the server has less than was left of an earlier attempt")
            return
        _check_status(response)
        start, total = _place(response, state, start, partial)
        _write_state(partial, _State.of(url, response.headers, total))
        _append(response, partial, start, total, progress)


def _check_status(response: requests.Response) -> None:
    status = f"HTTP {response.status_code} {response.reason}"
    if response.status_code in _PASSING:
        wait = response.headers.get("Retry-After", "")
        raise TransferError(status, float(wait) if wait.isdigit() else None)
    if response.status_code not in (200, 206):
        raise MissingError(status)


def _place(
    response: requests.Response, state: _State | None, start: int, partial: Path
) -> tuple[int, int]:
    """Where the answer's bytes belong, and how many the whole file has (-1 if not said)."""
    length = int(response.headers.get("Content-Length", -1))
    if response.status_code == 200:
        return 0, length
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
    total = int(found[2]) if found and found[2] != "*" else -1
    new = _State.of(response.url, response.headers, total)
    if not found or int(found[1]) != start or state is None or not state.agrees(new):
        forget(partial)
        raise TransferError("the file changed since an earlier attempt, or the range is not right")
    return start, total


def _append(
    response: requests.Response, partial: Path, start: int, total: int, progress: bool
) -> None:
    bar = tqdm(
        total=total if total >= 0 else None, initial=start, desc=partial.stem, unit="B",
        unit_scale=True, disable=not progress,
    )  # fmt: skip
    needed = max(0, total - start)
    with bar, disk_errors(partial, needed), partial.open("r+b" if start else "wb") as file:
        file.seek(start)
        for chunk in _raw_bytes(response):
            file.write(chunk)
            bar.update(len(chunk))
        end = file.tell()
    if total >= 0 and end != total:
        raise TransferError(f"cut at {end:,} of {total:,} bytes")


def _raw_bytes(response: requests.Response) -> Iterator[bytes]:
    """The body as it is sent: some servers say `Content-Encoding: gzip` of an archive."""
    raw: Any = response.raw
    yield from raw.stream(CHUNK_BYTES, decode_content=False)


def _state_file(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}.json")


def _read_state(partial: Path, url: str, verified: bool) -> _State | None:
    """What an earlier attempt left; anything that cannot be gone on with is thrown away."""
    try:
        state = _State(**json.loads(_state_file(partial).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        state = None
    if state is None or not partial.is_file() or (state.url != url and not verified):
        forget(partial)
        return None
    # Another server's tags and dates say nothing; only the length can be compared.
    return state if state.url == url else _State(url, total=state.total)


def _write_state(partial: Path, state: _State) -> None:
    with whole_file(_state_file(partial)) as path:
        path.write_text(json.dumps(asdict(state)), encoding="utf-8")


def _reason(error: Exception) -> str:
    """The innermost cause, without urllib3's wrapping."""
    inner: BaseException = error
    while inner.__cause__ or inner.__context__:
        inner = inner.__cause__ or inner.__context__ or inner
    return str(inner) or type(inner).__name__
