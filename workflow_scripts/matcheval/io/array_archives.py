"""Arrays of `.npy` and `.npz` files that others made, checked while they are read."""

import io
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.io.files import atomic_file, check_unpacked, readable
from matcheval.io.self_digests import enter_digest_of_archive

_MAX_CODE_POINT = 0x10FFFF

# What NumPy raises for content that is no array, or none that can be read.
UNREADABLE = (
    ValueError, EOFError, OSError, SyntaxError, TypeError, MemoryError, TokenError,
)  # fmt: skip


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and dtype in a `.npy` header; leave the file at the first value."""
    version = np.lib.format.read_magic(file)
    formats = np.lib.format
    read = formats.read_array_header_1_0 if version == (1, 0) else formats.read_array_header_2_0
    shape, _, dtype = read(file)
    return shape, dtype


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays to an `.npz` file atomically, with the file's own SHA-256 in its comment."""
    with atomic_file(path) as partial:
        with partial.open("wb") as stream:
            np.savez(stream, **arrays)
        enter_digest_of_archive(partial)


_OF_OBJECTS = (
    "Convert arrays of objects before they are saved: labels.astype('int64'); of a dict: "
    "np.savez(file, **dict)"
)


def array_names(path: Path) -> list[str]:
    """Return the names of the arrays of an `.npz` file."""
    with _open_archive(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def read_arrays(path: Path, names: Collection[str]) -> dict[str, npt.NDArray[Any]]:
    """Read those of the named arrays that an `.npz` file has; the others are not loaded."""
    wanted = filter(names.__contains__, array_names(path))
    return {name: read_array(member_stream(path, name), path, name) for name in wanted}


def read_array(stream: IO[bytes], path: Path, field: str | None = None) -> npt.NDArray[Any]:
    """Read an array in `.npy` format from a stream; refuse pickled objects and damaged text."""
    try:
        array: npt.NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    except UNREADABLE as error:
        remedy = _OF_OBJECTS if "Object arrays" in str(error) else ""
        problem = f"not a readable array ({error})"
        raise InputError(problem, file=path, field=field, remedy=remedy) from error
    return check_text(array, path, field)


def member_stream(path: Path, name: str) -> IO[bytes]:
    """Return one array of an `.npz` file as a stream of its bytes, checked for damage."""
    with _open_archive(path) as archive:
        try:
            member = archive.getinfo(f"{name}.npy")
            check_unpacked(member.compress_size, member.file_size, path, name)
            return io.BytesIO(archive.read(member))
        except KeyError as error:
            raise InputError(f"has no array '{name}'", file=path, field=name) from error
        except (InputError, MemoryError):
            raise
        except Exception as error:  # the exceptions of zipfile and zlib have no common base
            raise InputError(f"a damaged .npz file ({error})", file=path, field=name) from error


def check_text(array: npt.NDArray[Any], file: object, field: object = None) -> npt.NDArray[Any]:
    """Return an array unchanged; refuse text with code points beyond Unicode."""
    if array.dtype.kind == "U" and array.size:
        codes = np.frombuffer(array.tobytes(), np.dtype("u4").newbyteorder(array.dtype.byteorder))
        if codes.size and codes.max() > _MAX_CODE_POINT:
            raise InputError("holds text that is damaged", file=file, field=field)
    return array


def _open_archive(path: Path) -> zipfile.ZipFile:
    with readable(path, "a readable .npz file", Exception):  # as above
        return zipfile.ZipFile(path)
