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
    """Read the array of an .npy file; one of Python objects by `load_plain_pickle`.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    array

    Raises
    ------
    InputError
        If the file is damaged, or contains objects other than plain values.
    """
    with path.open("rb") as file:
        return read_npy_stream(file, path)


def npz_array(path: Path, key: str) -> npt.NDArray[Any]:
    """Read one array of an .npz file; one of Python objects by `load_plain_pickle`.

    Parameters
    ----------
    path : Path
        The file.
    key : str
        Name of the array.

    Returns
    -------
    array

    Raises
    ------
    InputError
        If the file has no such array or is damaged, or the array contains objects other than plain
        values.
    """
    return read_npy_stream(member_stream(path, key), f"{path}: {key}")


def read_npy_stream(file: IO[bytes], name: object) -> npt.NDArray[Any]:
    """Read an array in .npy format; one of Python objects by `load_plain_pickle`.

    Parameters
    ----------
    file : binary file
        Opened for reading, and seekable.
    name : object
        What messages call the file.

    Returns
    -------
    array

    Raises
    ------
    InputError
        If the content is damaged, or contains objects other than plain values.
    """
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
    """Write an array to an .npy file, from its bytes in C order.

    This avoids `numpy.save`, whose error does not mention that the disk is full, and a writable
    mapping, where a full disk kills the process.

    Parameters
    ----------
    path : Path
        The file.
    shape : tuple of int
        Shape of the array.
    parts : iterable of bytes-like
        The bytes of the array, in pieces of any size.
    dtype : dtype-like
        Type of its values.
    """
    with path.open("wb") as file:
        write_array_header(file, shape, dtype)
        for part in parts:
            file.write(part)


def write_array_header(file: Any, shape: tuple[int, ...], dtype: npt.DTypeLike = np.uint8) -> None:
    """Write the .npy header of an array in C order.

    Parameters
    ----------
    file : binary file
        Opened for writing.
    shape : tuple of int
        Shape of the array.
    dtype : dtype-like
        Type of its values.
    """
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    header = {"descr": descr, "fortran_order": False, "shape": tuple(map(int, shape))}
    np.lib.format.write_array_header_1_0(file, header)
