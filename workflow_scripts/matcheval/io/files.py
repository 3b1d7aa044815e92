"""Files: atomic writes, locks, plain messages for errors, and compressed ones within limits."""

import bz2
import errno
import glob
import gzip
import hashlib
import io
import lzma
import os
import platform
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

from matcheval.errors import InputError
from matcheval.names import COMPRESSED

_MAX_NAME = 255  # bytes of a file's name, on all usual file systems


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file atomically: yield a temporary path beside it; rename it after the block."""
    final = Path(path)
    check_place(final)
    prefix = _partial_prefix()
    for stale in final.parent.glob(f"{glob.escape(prefix)}*-{glob.escape(final.name)}"):
        if not _is_running(stale.name.removeprefix(prefix).split("-")[0]):
            stale.unlink(missing_ok=True)
    partial = final.with_name(f"{prefix}{os.getpid()}-{final.name}")
    try:
        with disk_errors(final):
            yield partial
            _sync_to_disk(partial)
            partial.replace(final)
            _sync_to_disk(final.parent)
    except BaseException:
        with suppress(OSError):  # of a folder that became read-only; the next writer deletes it
            partial.unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file atomically, in UTF-8."""
    with atomic_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _partial_prefix() -> str:
    return f".partial-{platform.node()}-{_process_namespace()}-"


def check_place(path: Path) -> None:
    """Create the parent folder of a file to be written; refuse folders and impossible names."""
    temporary = f"{_partial_prefix()}{os.getpid()}-{path.name}"
    try:
        if "\0" in str(path) or len(temporary.encode()) > _MAX_NAME:
            raise ValueError
        path.parent.mkdir(parents=True, exist_ok=True)
        is_folder = path.is_dir()
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", file=path) from error
    except ValueError as error:  # or bytes that are no UTF-8
        problem = "cannot be written (no file can have this name)"
        remedy = "Names have fewer than 200 characters, and no NUL"
        raise InputError(problem, file=ascii(str(path)), remedy=remedy) from error
    if is_folder:
        raise InputError("cannot be written (it is a folder)", file=path)


_ELSEWHERE = "set 'results' to a folder on another disk; the results so far are kept"


@contextmanager
def disk_errors(path: Path, needed: int = 0, elsewhere: str = _ELSEWHERE) -> Iterator[None]:
    """Turn a missing permission or a full disk into an `InputError`; first check `needed` bytes."""

    def disk_full_error(why: str) -> InputError:
        free = f"{shutil.disk_usage(path.parent).free:,} are free in {path.parent.resolve()}"
        problem = f"the disk is full: {why}, {free}"
        return InputError(problem, file=path, remedy=f"Free space, or {elsewhere}")

    if needed and needed > shutil.disk_usage(path.parent).free:
        raise disk_full_error(f"{needed:,} bytes are needed")
    try:
        yield
    except PermissionError as error:
        raise InputError(f"cannot be written ({error.strerror})", file=path) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full_error(str(error.strerror)) from error
        if path.name in str(error):  # of this file, or of a temporary one that ends in its name
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise InputError(f"cannot be written ({reason})", file=path) from error
        raise


def files_below(folder: Path, *, hidden: bool = False) -> list[Path]:
    """Return the files below a folder, sorted; follow linked folders, but refuse circular links."""

    def raise_input_error(error: OSError) -> None:
        raise InputError(f"cannot be read ({error.strerror})", file=error.filename) from error

    files = list[Path]()
    for walked, folders, names in os.walk(folder, followlinks=True, onerror=raise_input_error):
        place = Path(walked)
        if place.is_symlink():
            target = place.resolve()
            if any(parent.resolve().is_relative_to(target) for parent in place.parents):
                problem = f"is a link to {target}, which it lies in: its files would never end"
                raise InputError(problem, file=place, remedy="Remove the link")
        folders[:] = sorted(name for name in folders if hidden or not name.startswith("."))
        files += [place / name for name in names if hidden or not name.startswith(".")]
    for file in files:
        try:
            str(file).encode()
        except UnicodeEncodeError as error:  # lists of files could not hold it
            raise InputError("its name is not UTF-8", file=file, remedy="Rename it") from error
    return sorted(files)


@contextmanager
def readable(
    path: str | os.PathLike[str],
    what: str,
    *errors: type[Exception],
    missing: str = "no such file",
    remedy: str = "",
) -> Iterator[None]:
    """Turn errors of reading a file into an `InputError`: that it is missing, or is not `what`.

    `errors` are those of the format, besides `OSError`, `ValueError` and `RecursionError`, which
    parsers of text raise for deeply nested brackets.
    """
    expected: tuple[type[Exception], ...] = (OSError, ValueError, RecursionError, *errors)
    try:
        yield
    except InputError:  # it says what is wrong
        raise
    except FileNotFoundError as error:
        raise InputError(missing, file=path) from error
    except PermissionError as error:
        raise InputError("no permission to read it", file=path) from error
    except expected as error:
        reason = " ".join(str(error).split())
        raise InputError(f"not {what} ({reason:.300})", file=path, remedy=remedy) from error


@contextmanager
def file_lock(path: str | os.PathLike[str]) -> Iterator[bool]:
    """Let one process at a time write a file or folder; yield whether this one had to wait."""
    from filelock import FileLock, Timeout  # imported here because few callers lock

    path = Path(path)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    waited = False
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waited = True
        lock.acquire()
    try:
        yield waited
    finally:
        lock.release()


def check_format(path: str | os.PathLike[str], suffixes: Sequence[str], problem: str) -> str:
    """Return a file's suffix in lower case; refuse it unless it is one of `suffixes`."""
    suffix, (*others, last) = Path(path).suffix.lower(), suffixes
    if suffix not in suffixes:
        remedy = f"Use {', '.join(others)} or {last}"
        raise InputError(problem.format(f"'{suffix}'"), file=path, remedy=remedy)
    return suffix


def file_digest(path: Path, kind: str = "sha256") -> str:
    """Return the checksum of a file in hexadecimal; `kind` is the hash algorithm."""
    with path.open("rb") as file:
        return hashlib.file_digest(
            file, lambda: hashlib.new(kind, usedforsecurity=False)
        ).hexdigest()


def file_states(files: Sequence[str]) -> list[tuple[int, int]]:
    """Return the size and modification time in nanoseconds of each file."""
    stats = [Path(file).stat() for file in files]
    return [(stat.st_size, stat.st_mtime_ns) for stat in stats]


def _sync_to_disk(path: Path) -> None:
    """Wait until the content of a file, or the entries of a folder, are on the disk."""
    if path.is_dir() and os.name == "nt":  # there, folders cannot be opened
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network and container file systems do not offer it for folders.
        if not path.is_dir() or error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EROFS):
            raise
    finally:
        os.close(descriptor)


@cache
def _process_namespace() -> int:
    """Return the id of this process's PID namespace (containers have their own), or 0."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:  # this system has no namespaces
        return 0


def _is_running(pid: str) -> bool:
    """Whether a process of this host is running; True where that cannot be determined."""
    if os.name == "nt":  # there, signal 0 is not a mere query
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OSError):
        return True
    return True


def check_is_file(path: Path) -> None:
    """Refuse a path that does not exist, or is not a file."""
    try:
        is_file = path.is_file()
    except (OSError, ValueError) as error:  # too long, a loop of links, a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"no such file ({reason})", file=path) from error
    if not is_file:
        what = "is a folder" if path.is_dir() else "no such file"
        if path.is_symlink():
            what += ": it is a link to nothing, or to itself"
        raise InputError(what, file=path)


# --- compressed files, unpacked within a limit: few bytes can unpack to any number

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
    """Refuse content that unpacks to many times its packed size, beyond a limit."""
    if unpacked > max(_FREE_BYTES, _MAX_RATIO * packed):
        raise InputError(
            f"unpacks from {packed:,} to {unpacked:,} bytes, over {_MAX_RATIO} times as many",
            file=file, field=field,
            remedy="If that is right, save it without compression, Parquet without dictionaries",
        )  # fmt: skip


def unpacked_chunks(path: Path) -> Iterator[bytes]:
    """Yield the content of a compressed file in parts; refuse it if it unpacks to too much."""
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
    """Open a text file as bytes, unpacked if its suffix says that it is compressed."""
    if path.suffix.lower() not in COMPRESSED:
        return path.open("rb")
    return io.BytesIO(b"".join(unpacked_chunks(path)))
