"""Files that contain the SHA-256 of their own bytes, so that damage is noticed when they are read.

A writer stores `EMPTY_DIGEST` under `DIGEST_KEY` in the file's metadata. Once the file is complete,
`enter_digest` replaces the zeros by the SHA-256 of the file, zeros included. The digest so moves
and is copied with the file, and covers all of it: values, metadata, and what readers of the format
do not check.
"""

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from matcheval.errors import InputError
from matcheval.io.files import atomic_file, readable

DIGEST_KEY = "matcheval_file_sha256"
_MARK = b"sha256-of-this-file:"
_DIGITS = 64
_ZEROS = b"0" * _DIGITS
EMPTY_DIGEST = (_MARK + _ZEROS).decode()
DAMAGED = "If the workflow wrote it, delete it and run again; otherwise copy it again"
_CHUNK = 1 << 20
_KEPT = max(len(_MARK), len(DIGEST_KEY)) - 1  # bytes of a mark that a chunk may begin


def enter_digest(path: Path) -> None:
    """Replace the zeros of `EMPTY_DIGEST` in a complete file by the file's SHA-256."""
    with path.open("r+b") as stream:
        digest, recorded, _ = _scan_digests(stream)
        if [value for _, value in recorded] != [_ZEROS]:
            raise ValueError(f"{path}: {len(recorded)} places for a digest, not one")
        stream.seek(recorded[0][0])
        stream.write(digest)


def enter_digest_of_archive(path: Path) -> None:
    """Write the SHA-256 of a zip archive, such as an `.npz` file, into its comment."""
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = f"{DIGEST_KEY} {EMPTY_DIGEST}".encode()
    enter_digest(path)


def verify_file(path: str | os.PathLike[str]) -> bool:
    """Check a file against the SHA-256 that it contains; return False if it contains none."""
    with Path(path).open("rb") as stream:
        digest, recorded, has_key = _scan_digests(stream)
    if not recorded and not has_key:
        return False
    if not has_key or [value for _, value in recorded] != [digest]:
        problem = "its bytes do not have the SHA-256 that was recorded when it was written"
        raise InputError(f"damaged: {problem}", file=path, remedy=DAMAGED)
    return True


def _scan_digests(stream: IO[bytes]) -> tuple[bytes, list[tuple[int, bytes]], bool]:
    """Return a file's digest, the recorded ones with their offsets, and whether it has the key."""
    digest, recorded, has_key = hashlib.sha256(), [], False
    pending, start = bytearray(), 0  # `start` is the position of `pending` in the file
    while chunk := stream.read(_CHUNK):
        pending += chunk
        has_key = has_key or DIGEST_KEY.encode() in pending
        at = pending.find(_MARK)
        while at >= 0 and at + len(_MARK) + _DIGITS <= len(pending):
            first = at + len(_MARK)
            recorded.append((start + first, bytes(pending[first : first + _DIGITS])))
            pending[first : first + _DIGITS] = _ZEROS
            at = pending.find(_MARK, first + _DIGITS)
        done = at if at >= 0 else max(0, len(pending) - _KEPT)
        digest.update(pending[:done])
        del pending[:done]
        start += done
    digest.update(pending)
    return digest.hexdigest().encode(), recorded, has_key


# --- JSON


def write_json(values: Mapping[str, Any], path: str | os.PathLike[str], *, indent: int = 1) -> None:
    """Write a JSON object atomically, with the file's SHA-256 as its last entry."""
    text = json.dumps({**values, DIGEST_KEY: EMPTY_DIGEST}, indent=indent, ensure_ascii=False)
    with atomic_file(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")
        enter_digest(partial)


def read_json(path: str | os.PathLike[str], *, remedy: str = DAMAGED) -> Any:
    """Read a JSON file; if it contains its SHA-256, verify and drop it."""
    with readable(path, "readable as JSON", remedy=remedy):
        verify_file(path)
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    if isinstance(values, dict):
        values.pop(DIGEST_KEY, None)
    return values


def digest_of(values: Any) -> str:
    """Return the SHA-256 of values as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
