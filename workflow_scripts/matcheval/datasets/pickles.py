"""Reading untrusted pickles without running code from them.

CIFAR-10 is published as pickles, and Python's `pickle` calls any function that a pickle names. This
reader supports numbers, text, bytes, lists, tuples, dictionaries and NumPy arrays, and rejects
everything else. What a pickle names of NumPy are functions of this module, which check their
arguments: NumPy's own take memory addresses and sizes on trust.
"""

import math
import pickle
import re
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from matcheval.errors import InputError
from matcheval.io.array_archives import check_text

_PLAIN_DTYPE = re.compile(r"[biufc][0-9]{1,2}|[SU][0-9]{1,7}|O8?|[?bBhHiIlLqQefdFD]")
_BYTE_ORDERS = ("<", ">", "|", "=")


class _Array(np.ndarray[Any, Any]):
    """An array that a pickle fills in, once it has been checked."""

    def __setstate__(self, state: Any, /) -> None:
        _, shape, dtype, fortran_order, data = state
        _require(isinstance(dtype, _DType), "an array without a dtype")
        _require(
            type(shape) is tuple and all(type(n) is int and n >= 0 for n in shape),
            f"an array of shape {shape}",
        )
        found = dtype.dtype
        size = math.prod(shape)
        if found.hasobject:
            _require(type(data) is list and len(data) == size, "an array of objects without them")
        else:
            if type(data) is str:  # written by Python 2
                data = data.encode("latin-1")
            _require(type(data) is bytes and len(data) == size * found.itemsize,
                     f"an array of shape {shape} and type {found} without its values")  # fmt: skip
        checked: Any = (1, shape, found, bool(fortran_order), data)
        super().__setstate__(checked)
        check_text(self, "the pickle")


class _DType:
    """The type of an array's values: numbers, text or objects; none that NumPy nests."""

    __slots__ = ("dtype",)

    def __init__(self, code: Any) -> None:
        text = code.decode("latin-1") if isinstance(code, bytes) else code
        _require(isinstance(text, str) and _PLAIN_DTYPE.fullmatch(text), f"the type {code!r}")
        self.dtype = np.dtype(text)
        _require(self.dtype.itemsize, f"the empty type {code!r}")

    def __setstate__(self, state: Any, /) -> None:
        order: Any = state[1].decode("latin-1") if isinstance(state[1], bytes) else state[1]
        _require(
            order in _BYTE_ORDERS and state[2:5] == (None, None, None), f"a type with {state!r}"
        )
        self.dtype = self.dtype.newbyteorder(order)


class _Function:
    """What a pickle may call. It cannot be changed by a pickle, as a function could."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def __setstate__(self, state: Any, /) -> None:
        raise pickle.UnpicklingError("it changes a function")


def _require(condition: object, found: str) -> None:
    if not condition:
        raise pickle.UnpicklingError(f"it contains {found}")


def _latin1(text: str, encoding: str) -> bytes:
    """Encode text as Python 3 does when it pickles bytes for Python 2."""
    _require(encoding in ("latin1", "latin-1"), f"bytes encoded as '{encoding}'")
    return text.encode("latin-1")


_NDARRAY = _Function(lambda *_: _require(False, "an array that it builds itself"))


def _empty(kind: object, *_: object) -> _Array:
    _require(kind is _NDARRAY, "an array of another class")
    return np.zeros(0).view(_Array)


_RECONSTRUCT = _Function(_empty)
_ALLOWED = {
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): _Function(lambda code, *_: _DType(code)),
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("_codecs", "encode"): _Function(_latin1),
    ("__builtin__", "bytes"): _Function(lambda: b""),  # empty bytes in protocols 0 to 2
}


# The reader in C takes the size of its table of shared values from the file, which can ask for more
# memory than there is; that in Python uses a dictionary.
class _Unpickler(pickle._Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it calls {module}.{name}")
        return _ALLOWED[module, name]


def load_plain_pickle(file: IO[bytes], name: object) -> Any:
    """Read a pickle of plain values and arrays."""
    try:
        return _Unpickler(file, encoding="bytes").load()
    # Damaged pickles raise many types of exceptions (IndexError, UnicodeDecodeError, ...).
    except Exception as error:
        raise InputError(
            f"not a pickle of plain values and arrays ({error})",
            file=name,
            remedy="Do not trust the file: download it from its publisher",
        ) from error
