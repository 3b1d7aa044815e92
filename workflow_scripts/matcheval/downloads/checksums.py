"""Checksums of files that may be larger than the memory."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from matcheval.errors import InputError

_CHUNK_BYTES = 1 << 22


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
        if self.sha256:
            return f"SHA-256 {self.sha256}"
        if self.md5:
            return f"MD5 {self.md5}"
        return "no published checksum"


def verify_file(path: Path, expected: Expected) -> str:
    """Compare the size and checksum of a file with the expected ones; the file is read once."""
    size = path.stat().st_size
    if expected.size is not None and size != expected.size:
        raise InputError(f"has {size:,} bytes, not {expected.size:,}", file=path)
    found = file_digests(path, with_md5=bool(expected.md5 and not expected.sha256))
    for kind, published in (("sha256", expected.sha256), ("md5", expected.md5)):
        if published and kind in found and found[kind] != published:
            raise InputError(f"has {kind} {found[kind]}, not {published}", file=path)
    return found["sha256"]


def file_digests(path: Path, *, with_md5: bool = False) -> dict[str, str]:
    """Compute the SHA-256 of a file, and optionally its MD5, in one pass with constant memory."""
    digests = {"sha256": hashlib.sha256()}
    if with_md5:
        digests["md5"] = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            for digest in digests.values():
                digest.update(chunk)
    return {kind: digest.hexdigest() for kind, digest in digests.items()}
