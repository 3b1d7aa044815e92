"""Files of arrays: NumPy's `.npz` and `.npy`, torch's `.pt`, safetensors and HDF5."""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.io.array_archives import (
    UNREADABLE,
    array_names,
    read_array,
    read_arrays,
)
from matcheval.io.files import check_unpacked, readable
from matcheval.predictions.column_names import name_in_stem

Arrays = Mapping[str, npt.NDArray[Any]]
_AS_TENSORS = (
    "Save whole tensors by name: torch.save({'labels': torch.cat(labels), 'logits': "
    "torch.cat(logits)}, file)"
)
_VOID = np.dtype("V2")  # what NumPy writes of bfloat16, a type that it does not know
Opened = tuple[list[str], Callable[[list[str]], Arrays]]  # names, and what reads some of them


def _in_memory(arrays: Arrays) -> Opened:
    return list(arrays), lambda names: {name: arrays[name] for name in names}


def _npz(path: Path) -> Opened:
    def read(names: list[str]) -> Arrays:
        return {name: _widened(array) for name, array in read_arrays(path, names).items()}

    return array_names(path), read


def _npy(path: Path) -> Opened:
    """Return the one array, by the file's name."""
    with path.open("rb") as stream:
        array = read_array(stream, path)
    return _in_memory({_name_of(path): _widened(array)})


def _name_of(path: Path) -> str:
    """Return what the one array of a file is called: `logits` of `val_logits.npy`."""
    return name_in_stem(path.stem) or "outputs"


def _widened(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers of bfloat16, which NumPy holds as two bytes without a type, as float32."""
    if array.dtype != _VOID:
        return array
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _safetensors(path: Path) -> Opened:
    """Read tensors without the package: a header in JSON, and the bytes of all tensors."""
    types = {
        "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "V2", "I64": "<i8", "I32": "<i4",
        "I16": "<i2", "I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?",
    }  # fmt: skip
    content, arrays = path.read_bytes(), {}
    with readable(path, "a readable safetensors file", *UNREADABLE, KeyError, AttributeError):
        start = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:start])
        for name, tensor in header.items():
            if name != "__metadata__":
                first, last = tensor["data_offsets"]
                part = content[start + first : start + last]
                values = np.frombuffer(part, types[tensor["dtype"]])
                arrays[name] = _widened(values.reshape(tensor["shape"]))
    return _in_memory(arrays)


def _torch(path: Path) -> Opened:
    """Read a tensor, a dict of them or of lists, or batches; no code of the file is run."""
    torch = imported("torch", "workflow", path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of pickle, zipfile and torch: without a common base
        problem = "is damaged, or holds other objects than tensors, which could run code"
        raise InputError(problem, file=path, remedy=_AS_TENSORS) from error
    if isinstance(content, list | tuple):
        return _in_memory(_joined(content, path))
    tensors = content if isinstance(content, Mapping) else {_name_of(path): content}
    for name, value in tensors.items():
        if isinstance(value, list | tuple) and any(map(torch.is_tensor, value)):
            problem = f"is a {type(value).__name__}, as of batches"
            raise InputError(problem, file=path, field=name, remedy=_AS_TENSORS)
    return _in_memory(_of_tensors(tensors))


def _joined(batches: Sequence[Any], path: Path) -> Arrays:
    """Join batches, as of `trainer.predict` of Lightning: tensors, or tuples or dicts of them."""
    parts = []
    for batch in batches:
        named = batch if isinstance(batch, Mapping) else {_name_of(path): batch}
        if isinstance(batch, tuple):
            named = {f"[{position}]": value for position, value in enumerate(batch)}
        parts.append({name: array for name, array in _of_tensors(named).items() if array.ndim})
    if not parts or not parts[0] or any(part.keys() != parts[0].keys() for part in parts):
        problem = f"is a {type(batches).__name__}, but not of batches of the same tensors"
        raise InputError(problem, file=path, remedy=_AS_TENSORS)
    with readable(path, "a list of batches of the same tensors", remedy=_AS_TENSORS):
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _of_tensors(tensors: Mapping[Any, Any]) -> Arrays:
    """Return those of a mapping that are tensors, or lists of numbers or texts, as arrays."""
    arrays = {str(name): _of_tensor(value) for name, value in tensors.items()}
    return {name: array for name, array in arrays.items() if array is not None}


def _of_tensor(value: Any) -> npt.NDArray[Any] | None:
    """Return a tensor, or a list of numbers or texts, as an array; None of anything else."""
    import torch

    if isinstance(value, torch.Tensor):
        plain = value.detach().to_dense() if value.is_sparse else value.detach()
        if plain.is_quantized or plain.is_complex():
            return None
        small = plain.is_floating_point() and plain.dtype not in (torch.float16, torch.float64)
        return (plain.float() if small else plain).cpu().numpy()
    if not isinstance(value, list):
        return None
    try:
        array = np.asarray(value)
    except ValueError:  # lists of unequal lengths
        return None
    return array if array.dtype.kind in "iufU" else None


def _hdf5(path: Path) -> Opened:
    h5py = imported("h5py", "formats", path)

    def opened() -> Any:
        return h5py.File(path, "r")

    names: list[str] = []

    def visit(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset):
            if node.external or node.is_virtual:
                remedy = "Copy the values into the file, with h5repack or as .npz"
                problem = "its values are in other files, which are not opened"
                raise InputError(problem, file=path, field=name, remedy=remedy)
            names.append(name)

    # What it raises of damaged files is of many types.
    with readable(path, "a readable HDF5 file", Exception), opened() as file:
        file.visititems(visit)  # not along links, which may lead to other files

    def read(wanted: list[str]) -> Arrays:
        arrays = {}
        with readable(path, "a readable HDF5 file", Exception), opened() as file:
            for name in wanted:
                node = file[name]
                check_unpacked(node.id.get_storage_size(), node.nbytes, path, name)
                array = node.asstr()[()] if h5py.check_string_dtype(node.dtype) else node[()]
                is_text = isinstance(array, np.ndarray) and array.dtype.kind == "O"
                arrays[name] = _widened(np.asarray(array.astype(str) if is_text else array))
        return arrays

    return names, read


def imported(package: str, extra: str, path: Path) -> Any:
    """Import a package that is no part of the base install."""
    try:
        return import_module(package)
    except ImportError as error:
        raise InputError(
            f"needs the package {package}, which is not installed", file=path,
            remedy=f"pip install 'matched-eval[{extra}]', or save it as .npz or .csv",
        ) from error  # fmt: skip


# Arrays of `.npz` and HDF5 are read only where they are asked for.
READERS: Mapping[str, Callable[[Path], Opened]] = {
    ".npz": _npz,
    ".npy": _npy,
    ".safetensors": _safetensors,
    **dict.fromkeys((".pt", ".pth"), _torch),
    **dict.fromkeys((".h5", ".hdf5"), _hdf5),
}
