"""Compressed files of the user's, unpacked within a limit: few bytes can unpack to any number."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from matcheval.errors import InputError
from matcheval.names import COMPRESSED

_FREE_BYTES = 1 << 28  # what a file may always unpack to
_MAX_RATIO = 100  # of bytes unpacked to packed above that; deflate reaches 1,000 with zeros
_CHUNK_BYTES = 1 << 20


def _open_zstd(path: Path) -> Any:
    import pyarrow as pa  # Python has had a reader of its own since 3.14

    return pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")


_OPENERS: tuple[tuple[bytes, Callable[[Path], Any]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
    (b"\x5d\x00\x00\x80", lzma.open),
    (b"\x28\xb5\x2f\xfd", _open_zstd),
)

# What unpacking a damaged file raises, besides OSError.
BROKEN = (EOFError, zlib.error, lzma.LZMAError)


def check_unpacked(packed: int, unpacked: int, file: object, field: object = None) -> None:
    """Refuse what unpacks to many times its size."""
    if unpacked > max(_FREE_BYTES, _MAX_RATIO * packed):
        raise InputError(
            f"unpacks from {packed:,} to {unpacked:,} bytes, over {_MAX_RATIO} times as many",
            file=file, field=field,
            remedy="If that is right, save it without compression, Parquet without dictionaries",
        )  # fmt: skip


def unpacked_chunks(path: Path) -> Iterator[bytes]:
    """Unpack a compressed file, up to the limit."""
    with path.open("rb") as file:
        start = file.read(6)
    opener = next((open_ for magic, open_ in _OPENERS if start.startswith(magic)), None)
    if opener is None:
        raise OSError("of no known compression")
    packed, unpacked = path.stat().st_size, 0
    with opener(path) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            unpacked += len(chunk)
            check_unpacked(packed, unpacked, path)
            yield chunk


def open_text(path: Path) -> IO[bytes]:
    """Open a text file; it is unpacked if its name says that it is compressed."""
    if path.suffix.lower() not in COMPRESSED:
        return path.open("rb")
    return io.BytesIO(b"".join(unpacked_chunks(path)))
