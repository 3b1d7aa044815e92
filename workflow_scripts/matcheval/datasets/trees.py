"""Files in folders and in tar archives, read through one interface without unpacking archives."""

import bz2
import gzip
import lzma
import os
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from matcheval.errors import InputError
from matcheval.io.files import disk_errors

_CHUNK_BYTES = 1 << 20
_COMPRESSIONS = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
    (b"\x5d\x00\x00\x80", lzma.open),
)


class Tree(Protocol):
    """Files of a folder or archive, by relative path with "/" as separator."""

    @property
    def paths(self) -> Sequence[str]:
        """Paths of the wanted files, sorted; hidden files are left out."""

    def read(self, path: str) -> bytes:
        """Read a file."""


@contextmanager
def open_tree(path: Path, wanted: Callable[[str], bool] = lambda path: True) -> Iterator[Tree]:
    """Open a folder, or a tar archive with or without compression."""
    if path.is_dir():
        yield _Folder(path, wanted)
        return
    if not path.is_file():
        raise InputError("no such file or folder", file=path)
    plain = _is_plain(path)
    with path.open("rb") if plain else tempfile.TemporaryFile() as file:
        try:
            yield _Archive(path, wanted, file, plain)
        except (tarfile.TarError, EOFError) as error:
            raise InputError(
                f"not a readable tar archive, perhaps truncated ({error})", file=path
            ) from error


class _Folder:
    def __init__(self, root: Path, wanted: Callable[[str], bool]) -> None:
        self._root = root
        found = []
        for folder, folders, files in os.walk(root, followlinks=True):
            folders[:] = [name for name in folders if not name.startswith(".")]
            relative = Path(folder).relative_to(root)
            found += [(relative / name).as_posix() for name in files]
        self.paths = sorted(p for p in found if not _is_hidden(p) and wanted(p))

    def read(self, path: str) -> bytes:
        return (self._root / path).read_bytes()


@dataclass(frozen=True)
class _Place:
    start: int
    size: int


class _Archive:
    def __init__(
        self, path: Path, wanted: Callable[[str], bool], file: IO[bytes], plain: bool
    ) -> None:
        self._places: dict[str, _Place] = {}
        self._file = file
        with _opened(path, plain) as archive:
            for member in archive:
                name = member.name.removeprefix("./")
                if not member.isreg() or _is_hidden(name) or not wanted(name):
                    continue
                if name in self._places:
                    raise InputError(f"'{name}' occurs twice", file=path)
                start = member.offset_data if plain else _copy(archive, member, file)
                self._places[name] = _Place(start, member.size)
        self.paths = sorted(self._places)

    def read(self, path: str) -> bytes:
        place = self._places[path]
        self._file.seek(place.start)
        content = self._file.read(place.size)
        if len(content) != place.size:
            raise EOFError(f"{path} ends early")
        return content


@contextmanager
def _opened(path: Path, plain: bool) -> Iterator[tarfile.TarFile]:
    """Open an archive; a compressed one is read to its end, where its checksum is."""
    if plain:
        with tarfile.open(path, "r:", tarinfo=_Member) as archive:
            yield archive
        return
    with path.open("rb") as file:
        start = file.read(6)
    opener = next((each for magic, each in _COMPRESSIONS if start.startswith(magic)), None)
    if opener is None:
        raise tarfile.ReadError("of no known compression")
    with opener(path) as stream:
        try:
            with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member) as archive:
                yield archive
            while stream.read(_CHUNK_BYTES):
                pass
        except (OSError, zlib.error, lzma.LZMAError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of the disk, not of the content
            raise tarfile.ReadError(str(error)) from error


class _Member(tarfile.TarInfo):
    """A member of an archive; a damaged one is an error, which `tarfile` takes for the end."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> "_Member":
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.HeaderError as error:
            if type(error).__name__ in ("TruncatedHeaderError", "InvalidHeaderError"):
                raise tarfile.ReadError(str(error)) from error
            raise


def _is_plain(path: Path) -> bool:
    """Whether an archive is uncompressed; ImageNetV2's are, although they are named .tar.gz."""
    try:
        with tarfile.open(path, "r:"):
            return True
    except tarfile.ReadError:
        return False


def _copy(archive: tarfile.TarFile, member: tarfile.TarInfo, spool: IO[bytes]) -> int:
    start = spool.tell()
    source = archive.extractfile(member)
    if source is None or member.issparse():
        raise tarfile.ReadError(f"{member.name} is not a regular file")
    with disk_errors(Path(tempfile.gettempdir()) / "unpacked archive"):
        while chunk := source.read(_CHUNK_BYTES):
            spool.write(chunk)
    return start


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))
