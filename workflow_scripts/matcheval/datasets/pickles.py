"""Reading untrusted pickles without running code from them.

CIFAR-10 is published as pickles, and Python's `pickle` calls any function that a pickle names. This
reader supports numbers, text, bytes, lists, tuples, dictionaries and NumPy arrays, and rejects
everything else.
"""

import pickle
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from matcheval.errors import InputError


def _latin1(text: str, encoding: str) -> bytes:
    """Encode text as Python 3 does when it pickles bytes for Python 2."""
    if encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError(f"bytes encoded as '{encoding}'")
    return text.encode("latin-1")


_reconstruct: Callable[..., Any] = np.zeros(0).__reduce__()[0]  # type: ignore[assignment]
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("_codecs", "encode"): _latin1,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it calls {module}.{name}")
        return _ALLOWED[module, name]


def load_plain_pickle(file: IO[bytes], name: object) -> Any:
    """Read a pickle of plain values and arrays.

    Parameters
    ----------
    file : binary file
        The file to read.
    name : object
        What the message calls the file.

    Returns
    -------
    object
        The unpickled value; text from Python 2 is returned as bytes.

    Raises
    ------
    InputError
        If the pickle is damaged, or contains anything else.
    """
    try:
        return _Unpickler(file, encoding="bytes").load()
    # Damaged pickles raise many types of exceptions (IndexError, UnicodeDecodeError, ...).
    except Exception as error:
        raise InputError(
            f"not a pickle of plain values and arrays ({error})",
            file=name,
            remedy="Do not trust the file: download it from its publisher",
        ) from error
