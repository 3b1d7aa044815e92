"""Files of arrays: NumPy's `.npz` and `.npy`, torch's `.pt`, safetensors and HDF5."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.io.array_archives import (
    UNREADABLE,
    array_names,
    check_text,
    read_array,
    read_arrays,
)
from matcheval.io.compressed import check_unpacked
from matcheval.io.files import readable
from matcheval.predictions.column_names import known_part

Arrays = Mapping[str, npt.NDArray[Any]]
_VOID = np.dtype("V2")  # what NumPy writes of bfloat16, a type that it does not know


@dataclass(frozen=True)
class ArrayFile:
    """The arrays of a file: their names, and what reads some of them."""

    names: list[str]
    read: Callable[[list[str]], Arrays]


def read_array_file(path: Path, suffix: str) -> ArrayFile:
    """Open a file of arrays; those of `.npz` and HDF5 are read only where they are asked for."""
    return _READERS[suffix](path)


def _in_memory(arrays: Arrays) -> ArrayFile:
    return ArrayFile(list(arrays), lambda names: {name: arrays[name] for name in names})


def _npz(path: Path) -> ArrayFile:
    def read(names: list[str]) -> Arrays:
        return {name: _widened(array) for name, array in read_arrays(path, names).items()}

    return ArrayFile(array_names(path), read)


def _npy(path: Path) -> ArrayFile:
    """Return the one array, by the file's name."""
    with path.open("rb") as stream:
        array = read_array(stream, path)
    return _in_memory({_name_of(path): _widened(check_text(array, path))})


def _name_of(path: Path) -> str:
    """Return what the one array of a file is called: `logits` of `val_logits.npy`."""
    return known_part(path.stem) or "outputs"


def _widened(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers of bfloat16, which NumPy holds as two bytes without a type, as float32."""
    if array.dtype != _VOID:
        return array
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _safetensors(path: Path) -> ArrayFile:
    """Read tensors without the package: a header in JSON, and the bytes of all tensors."""
    types = {
        "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "V2", "I64": "<i8", "I32": "<i4",
        "I16": "<i2", "I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?",
    }  # fmt: skip
    content, arrays = path.read_bytes(), {}
    with readable(path, "a readable safetensors file", *UNREADABLE, KeyError, AttributeError):
        start = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:start])
        for name, one in header.items():
            if name != "__metadata__":
                first, last = one["data_offsets"]
                values = np.frombuffer(content[start + first : start + last], types[one["dtype"]])
                arrays[name] = _widened(values.reshape(one["shape"]))
    return _in_memory(arrays)


def _torch(path: Path) -> ArrayFile:
    """Read tensors, or batches of them, which are joined; no code of the file is run."""
    torch = imported("torch", "workflow", path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of pickle, zipfile and torch: without a common base
        raise InputError(
            "is damaged, or holds other objects than tensors, which could run code", file=path,
            remedy="Save plain tensors: torch.save({'labels': labels, 'logits': logits}, file)",
        ) from error  # fmt: skip
    return _in_memory(_joined(content, path))


def _joined(content: Any, path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return tensors by name; those of a list of batches one after the other."""
    is_pair = isinstance(content, list | tuple) and len(content) == 2  # of scores and of labels
    lists = [] if not is_pair else [_concatenated(one) for one in content if isinstance(one, list)]
    if len(lists) == 2 and all(one is not None for one in lists):
        return {f"[{at}]": one for at, one in enumerate(lists) if one is not None}
    if isinstance(content, list | tuple) and content and all(map(_is_batch, content)):
        batches = [_joined(batch, path) for batch in content]
        with readable(path, "batches of the same tensors", KeyError, TypeError):
            return {name: np.concatenate([b[name] for b in batches]) for name in batches[0]}
    if isinstance(content, list | tuple):
        if (whole := _concatenated(content, is_bare=True)) is not None:
            return {_name_of(path): whole}
        content = {f"[{position}]": one for position, one in enumerate(content)}
    if not isinstance(content, Mapping):
        content = {_name_of(path): content}
    arrays = {str(name): _array_of(value) for name, value in content.items()}
    return {name: array for name, array in arrays.items() if array is not None}


def _array_of(value: Any) -> npt.NDArray[Any] | None:
    """Return a tensor, or a list of tensors of batches, as one array; None of anything else."""
    array = _of_tensor(value)
    return _concatenated(value) if array is None and isinstance(value, list | tuple) else array


def _concatenated(batches: Sequence[Any], *, is_bare: bool = False) -> npt.NDArray[Any] | None:
    """Return tensors of batches, one after the other; None of anything else, as bare columns."""
    arrays = [array for one in batches if (array := _of_tensor(one)) is not None and array.ndim]
    are_alike = len({(array.shape[1:], array.dtype) for array in arrays}) == 1
    if not are_alike or len(arrays) < len(batches):
        return None
    are_columns = is_bare and arrays[0].ndim == 1 and len({*map(len, arrays)}) == 1
    return None if are_columns else np.concatenate(arrays)


def _is_batch(one: Any) -> bool:
    return isinstance(one, list | tuple | Mapping) and any(
        _of_tensor(value) is not None
        for value in (one.values() if isinstance(one, Mapping) else one)
    )


def _of_tensor(value: Any) -> npt.NDArray[Any] | None:
    """Return a tensor, or a list of numbers or texts, as an array; None of anything else."""
    import torch

    if isinstance(value, torch.Tensor):
        plain = value.detach().to_dense() if value.is_sparse else value.detach()
        if plain.is_quantized or plain.is_complex():
            return None
        small = plain.is_floating_point() and plain.dtype not in (torch.float16, torch.float64)
        return (plain.float() if small else plain).cpu().numpy()
    is_list = isinstance(value, list) and value and isinstance(value[0], int | float | str | list)
    if not is_list:
        return None
    try:
        array = np.asarray(value)
    except ValueError:  # lists of unequal lengths
        return None
    return array if array.dtype.kind in "iufU" else None


def _hdf5(path: Path) -> ArrayFile:
    h5py = imported("h5py", "formats", path)

    def opened() -> Any:
        return h5py.File(path, "r")

    found: list[str] = []

    def visit(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset):
            if node.external or node.is_virtual:
                remedy = "Copy the values into the file, with h5repack or as .npz"
                problem = "its values are in other files, which are not opened"
                raise InputError(problem, file=path, field=name, remedy=remedy)
            found.append(name)

    # What it raises of damaged files is of many types.
    with readable(path, "a readable HDF5 file", Exception), opened() as file:
        file.visititems(visit)  # not along links, which may lead to other files

    def read(names: list[str]) -> Arrays:
        arrays = {}
        with readable(path, "a readable HDF5 file", Exception), opened() as file:
            for name in names:
                node = file[name]
                check_unpacked(node.id.get_storage_size(), node.nbytes, path, name)
                array = node.asstr()[()] if h5py.check_string_dtype(node.dtype) else node[()]
                is_text = isinstance(array, np.ndarray) and array.dtype.kind == "O"
                arrays[name] = _widened(np.asarray(array.astype(str) if is_text else array))
        return arrays

    return ArrayFile(found, read)


def imported(package: str, extra: str, path: Path) -> Any:
    """Import a package that is no part of the base install."""
    try:
        return import_module(package)
    except ImportError as error:
        raise InputError(
            f"needs the package {package}, which is not installed", file=path,
            remedy=f"pip install 'matched-eval[{extra}]', or save it as .npz or .csv",
        ) from error  # fmt: skip


_READERS: Mapping[str, Callable[[Path], ArrayFile]] = {
    ".npz": _npz,
    ".npy": _npy,
    ".safetensors": _safetensors,
    **dict.fromkeys((".pt", ".pth"), _torch),
    **dict.fromkeys((".h5", ".hdf5"), _hdf5),
}
SUFFIXES = tuple(_READERS)
