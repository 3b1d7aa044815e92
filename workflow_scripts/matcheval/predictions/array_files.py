"""Files of arrays: NumPy's `.npz` and `.npy`, torch's `.pt`, safetensors and HDF5."""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.io.array_archives import UNREADABLE, array_names, read_array, read_arrays
from matcheval.io.files import check_unpacked, readable
from matcheval.predictions.column_names import array_name_in_stem

Arrays = Mapping[str, npt.NDArray[Any]]
_AS_TENSORS = (
    "Save whole tensors by name: torch.save({'labels': torch.cat(labels), 'logits': "
    "torch.cat(logits)}, file)"
)
_VOID = np.dtype("V2")  # what NumPy writes of bfloat16, a type that it does not know
# The names of a file's arrays, and a function that reads some of them.
NamesAndReader = tuple[list[str], Callable[[list[str]], Arrays]]


def _open_in_memory(arrays: Arrays) -> NamesAndReader:
    return list(arrays), lambda names: {name: arrays[name] for name in names}


def _open_npz(path: Path) -> NamesAndReader:
    def read(names: list[str]) -> Arrays:
        return {name: _from_bfloat16(array) for name, array in read_arrays(path, names).items()}

    return array_names(path), read


def _open_npy(path: Path) -> NamesAndReader:
    """Read the only array; it is named after the file."""
    with path.open("rb") as stream:
        array = read_array(stream, path)
    return _open_in_memory({_array_name(path): _from_bfloat16(array)})


def _array_name(path: Path) -> str:
    """Return the name of a file's only array, after the file: `logits` for `val_logits.npy`."""
    return array_name_in_stem(path.stem) or "outputs"


def _from_bfloat16(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert bfloat16, which NumPy holds as two bytes without a type, to float32; others stay."""
    if array.dtype != _VOID:
        return array
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _open_safetensors(path: Path) -> NamesAndReader:
    """Read all tensors without the package `safetensors`: a JSON header, then their bytes."""
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
                arrays[name] = _from_bfloat16(values.reshape(tensor["shape"]))
    return _open_in_memory(arrays)


def _open_torch(path: Path) -> NamesAndReader:
    """Read a tensor, a dict of tensors or lists, or a list of batches; run no code of the file."""
    torch = import_optional("torch", "workflow", path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of pickle, zipfile and torch: without a common base
        problem = "is damaged, or holds other objects than tensors, which could run code"
        raise InputError(problem, file=path, remedy=_AS_TENSORS) from error
    if isinstance(content, list | tuple):
        return _open_in_memory(_join_batches(content, path))
    tensors = content if isinstance(content, Mapping) else {_array_name(path): content}
    for name, value in tensors.items():
        if isinstance(value, list | tuple) and any(map(torch.is_tensor, value)):
            problem = f"is a {type(value).__name__}, as of batches"
            raise InputError(problem, file=path, field=name, remedy=_AS_TENSORS)
    return _open_in_memory(_to_arrays(tensors))


def _join_batches(batches: Sequence[Any], path: Path) -> Arrays:
    """Concatenate batches of tensors, or of tuples or dicts of them, as Lightning predicts."""
    parts = []
    for batch in batches:
        named = batch if isinstance(batch, Mapping) else {_array_name(path): batch}
        if isinstance(batch, tuple):
            named = {f"[{position}]": value for position, value in enumerate(batch)}
        parts.append({name: array for name, array in _to_arrays(named).items() if array.ndim})
    if not parts or not parts[0] or any(part.keys() != parts[0].keys() for part in parts):
        problem = f"is a {type(batches).__name__}, but not of batches of the same tensors"
        raise InputError(problem, file=path, remedy=_AS_TENSORS)
    with readable(path, "a list of batches of the same tensors", remedy=_AS_TENSORS):
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _to_arrays(tensors: Mapping[Any, Any]) -> Arrays:
    """Convert the tensors and lists of a mapping to arrays; leave out all other values."""
    arrays = {str(name): _to_array(value) for name, value in tensors.items()}
    return {name: array for name, array in arrays.items() if array is not None}


def _to_array(value: Any) -> npt.NDArray[Any] | None:
    """Convert a tensor, or a list of numbers or texts, to an array; anything else to None."""
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


def _open_hdf5(path: Path) -> NamesAndReader:
    h5py = import_optional("h5py", "formats", path)

    def open_file() -> Any:
        return h5py.File(path, "r")

    names: list[str] = []

    def collect_name(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset):
            if node.external or node.is_virtual:
                remedy = "Copy the values into the file, with h5repack or as .npz"
                problem = "its values are in other files, which are not opened"
                raise InputError(problem, file=path, field=name, remedy=remedy)
            names.append(name)

    # What it raises of damaged files is of many types.
    with readable(path, "a readable HDF5 file", Exception), open_file() as file:
        file.visititems(collect_name)  # not along links, which may lead to other files

    def read(wanted: list[str]) -> Arrays:
        arrays = {}
        with readable(path, "a readable HDF5 file", Exception), open_file() as file:
            for name in wanted:
                node = file[name]
                check_unpacked(node.id.get_storage_size(), node.nbytes, path, name)
                array = node.asstr()[()] if h5py.check_string_dtype(node.dtype) else node[()]
                is_text = isinstance(array, np.ndarray) and array.dtype.kind == "O"
                arrays[name] = _from_bfloat16(np.asarray(array.astype(str) if is_text else array))
        return arrays

    return names, read


def import_optional(package: str, extra: str, path: Path) -> Any:
    """Import a package that the base install lacks; without it, say how to install the extra."""
    try:
        return import_module(package)
    except ImportError as error:
        raise InputError(
            f"needs the package {package}, which is not installed", file=path,
            remedy=f"pip install 'matched-eval[{extra}]', or save it as .npz or .csv",
        ) from error  # fmt: skip


# Arrays of `.npz` and HDF5 are read only where they are asked for.
READERS: Mapping[str, Callable[[Path], NamesAndReader]] = {
    ".npz": _open_npz,
    ".npy": _open_npy,
    ".safetensors": _open_safetensors,
    **dict.fromkeys((".pt", ".pth"), _open_torch),
    **dict.fromkeys((".h5", ".hdf5"), _open_hdf5),
}
