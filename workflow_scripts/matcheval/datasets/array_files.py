"""Arrays in .npy and .npz files, which are read without running code from pickles."""

from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from matcheval.datasets.pickles import load_plain_pickle
from matcheval.errors import InputError
from matcheval.io.array_archives import UNREADABLE, check_text, member_stream, read_header


def read_npy(path: Path) -> npt.NDArray[Any]:
    """Read the array of an .npy file; one of Python objects by `load_plain_pickle`."""
    with path.open("rb") as file:
        return read_npy_stream(file, path)


def npz_array(path: Path, key: str) -> npt.NDArray[Any]:
    """Read one array of an .npz file; one of Python objects by `load_plain_pickle`."""
    return read_npy_stream(member_stream(path, key), f"{path}: {key}")


def read_npy_stream(file: IO[bytes], name: object) -> npt.NDArray[Any]:
    """Read an array in .npy format; one of Python objects by `load_plain_pickle`."""
    try:
        _, dtype = read_header(file)
        if dtype.hasobject:
            return np.asarray(load_plain_pickle(file, name))
        file.seek(0)
        return check_text(np.lib.format.read_array(file, allow_pickle=False), name)
    except UNREADABLE as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"not a readable array, perhaps truncated ({error})", file=name) from error


def write_array(
    path: Path,
    shape: tuple[int, ...],
    parts: Iterable[bytes | memoryview],
    dtype: npt.DTypeLike = np.uint8,
) -> None:
    """Write an array to an .npy file, from its bytes in C order."""
    with path.open("wb") as file:
        write_array_header(file, shape, dtype)
        for part in parts:
            file.write(part)


def write_array_header(file: Any, shape: tuple[int, ...], dtype: npt.DTypeLike = np.uint8) -> None:
    """Write the .npy header of an array in C order."""
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    header = {"descr": descr, "fortran_order": False, "shape": tuple(map(int, shape))}
    np.lib.format.write_array_header_1_0(file, header)
