"""Whether a file is the published one: by its checksum, or by the format that its name tells."""

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from matcheval.errors import InputError
from matcheval.io.files import file_digest

_PAGE_STARTS = (b"<!doctype html", b"<html", b"<?xml", b"<head")


@dataclass(frozen=True)
class Expected:
    """What is known in advance about a file; None where unknown."""

    sha256: str | None = None
    md5: str | None = None
    size: int | None = None

    @property
    def has_checksum(self) -> bool:
        """Whether a file can be verified by a checksum."""
        return bool(self.sha256 or self.md5)

    def __str__(self) -> str:
        """Describe the expected checksum, for messages."""
        md5 = f"MD5 {self.md5}" if self.md5 else "no published checksum"
        return f"SHA-256 {self.sha256}" if self.sha256 else md5


def verify_file(path: Path, expected: Expected) -> str:
    """Compare the size and checksum of a file with the expected ones, and return its SHA-256."""
    size = path.stat().st_size
    if expected.size is not None and size != expected.size:
        raise InputError(f"has {size:,} bytes, not {expected.size:,}", file=path)
    sha256 = file_digest(path)
    if expected.sha256 and sha256 != expected.sha256:
        raise InputError(f"has sha256 {sha256}, not {expected.sha256}", file=path)
    if expected.md5 and not expected.sha256 and (md5 := file_digest(path, "md5")) != expected.md5:
        raise InputError(f"has md5 {md5}, not {expected.md5}", file=path)
    return sha256


def check_format(path: Path, name: str) -> None:
    """Check the first bytes of a file and, where the format tells its end, that it is complete."""
    with path.open("rb") as file:
        start = file.read(512)
    if not start:
        raise InputError("is empty", file=path)
    if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:20].lower().startswith(_PAGE_STARTS):
        raise InputError("is a web page", file=path)
    suffix = next((end for end in _CHECKS if name.lower().endswith(end)), None)
    if suffix is not None and not _CHECKS[suffix](path, start):
        raise InputError(
            f"is not a complete {suffix} file (it begins with {start[:8]!r})", file=path
        )


def _is_zip(path: Path, start: bytes) -> bool:
    return start[:4] == b"PK\x03\x04" and zipfile.is_zipfile(path)  # its list is at the end


def _is_safetensors(path: Path, start: bytes) -> bool:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy"):  # which compares the sizes in the header with the file's
            return True
    except SafetensorError:
        return False


# Of the files that are published without a checksum.
_CHECKS: dict[str, Callable[[Path, bytes], bool]] = {
    ".npz": _is_zip,
    ".safetensors": _is_safetensors,
}
