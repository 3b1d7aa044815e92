"""What datasets are built from: published files, the user's files, and other datasets."""

import math
import os
import pickle
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from matcheval.datasets.dataset import Dataset
from matcheval.datasets.label_spaces import label_class_folders
from matcheval.downloads.sources import published_file, verify_file
from matcheval.errors import InputError
from matcheval.io.array_archives import UNREADABLE, check_text, member_stream, read_header
from matcheval.io.files import (
    BROKEN,
    disk_errors,
    file_digest,
    files_below,
    readable,
    unpacked_chunks,
)


@dataclass(frozen=True)
class LabelledFile:
    """An image file in memory, with its name and label."""

    name: str
    label: int
    encoded: bytes


@dataclass(frozen=True, eq=False)
class ImageStream:
    """A dataset whose image files are read one by one while it is built."""

    name: str
    classes: tuple[str, ...]
    source: str
    files: Iterable[LabelledFile]
    notes: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Tree:
    """The wanted files of a folder or archive, except hidden ones, by relative path with "/"."""

    file: Path
    paths: Sequence[str]
    read: Callable[[str], bytes]

    @property
    def folders(self) -> list[str]:
        """Names of the folders that contain files, sorted, without their parents' names."""
        return sorted({path.split("/")[-2] for path in self.paths if "/" in path})

    def read_named(self, name: str) -> bytes:
        """Read the file of this name in whichever folder; raise an error if there is none."""
        for path in self.paths:
            if path.rsplit("/", 1)[-1] == name:
                return self.read(path)
        raise InputError(f"has no '{name}'", file=self.file)

    def labels_by_folder(self, classes: Sequence[str]) -> dict[str, int]:
        """Return the label of each image, by path; folders bear the names of their classes."""
        labels = label_class_folders(self.folders, classes, self.file)
        return {path: labels[path.split("/")[-2]] for path in self.paths if "/" in path}

    def stream(
        self, name: str, classes: tuple[str, ...], source: str, labels: Mapping[str, int]
    ) -> ImageStream:
        """Return a stream of the images in `labels` (label by path), sorted by label, then path."""
        ordered = sorted(labels, key=lambda path: (labels[path], path))
        files = (LabelledFile(path, labels[path], self.read(path)) for path in ordered)
        return ImageStream(name, classes, source, files)


@contextmanager
def open_tree(path: Path, wanted: Callable[[str], bool] = lambda path: True) -> Iterator[Tree]:
    """Open a folder, or a tar archive with or without compression."""
    if path.is_dir():
        yield _folder_tree(path, wanted)
        return
    try:
        with _open_uncompressed(path) as file:
            yield _archive_tree(path, wanted, file)
    except (tarfile.TarError, EOFError) as error:
        problem = f"not a readable tar archive, perhaps truncated ({error})"
        raise InputError(problem, file=path) from error


def _folder_tree(root: Path, wanted: Callable[[str], bool]) -> Tree:
    def read(path: str) -> bytes:
        with readable(root / path, "a readable file", missing="is a link to nothing"):
            return (root / path).read_bytes()

    paths = (path.relative_to(root).as_posix() for path in files_below(root))
    return Tree(root, sorted(filter(wanted, paths)), read)


def _archive_tree(path: Path, wanted: Callable[[str], bool], file: IO[bytes]) -> Tree:
    """Find the wanted files in an uncompressed archive, of which `file` is open."""
    places: dict[str, tuple[int, int]] = {}  # start and size
    with tarfile.open(fileobj=file, mode="r:", tarinfo=_Member) as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            if not member.isreg() or _is_hidden(name) or not wanted(name):
                continue
            if name in places:
                raise InputError(f"'{name}' occurs twice", file=path)
            if member.issparse():
                raise tarfile.ReadError(f"{name} is not a regular file")
            places[name] = member.offset_data, member.size

    def read(name: str) -> bytes:
        start, size = places[name]
        file.seek(start)
        content = file.read(size)
        if len(content) != size:
            raise EOFError(f"{name} ends early")
        return content

    return Tree(path, sorted(places), read)


@contextmanager
def _open_uncompressed(path: Path) -> Iterator[IO[bytes]]:
    """Open an archive; a compressed one is unpacked first, up to the checksum at its end."""
    if _is_uncompressed(path):
        with path.open("rb") as file:
            yield file
        return
    chosen = os.environ.get("TMPDIR")
    if chosen and not os.access(chosen, os.W_OK):  # Python would use another folder, unasked
        problem, remedy = "no folder that can be written to", "Create it, or name another one"
        raise InputError(problem, file=chosen, field="TMPDIR", remedy=remedy)
    place = Path(tempfile.gettempdir(), path.name)  # for messages
    elsewhere = "set TMPDIR to a folder on another disk, or unpack it yourself"
    with tempfile.TemporaryFile() as unpacked:
        try:
            with disk_errors(place, path.stat().st_size, elsewhere):
                unpacked.writelines(unpacked_chunks(path))
        except (OSError, *BROKEN) as error:
            raise tarfile.ReadError(str(error)) from error
        unpacked.seek(0)
        yield unpacked


class _Member(tarfile.TarInfo):
    """A member of an archive; a damaged header, which `tarfile` takes for the end, is an error."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> "_Member":
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.HeaderError as error:
            if type(error).__name__ in ("TruncatedHeaderError", "InvalidHeaderError"):
                raise tarfile.ReadError(str(error)) from error
            raise


def _is_uncompressed(path: Path) -> bool:
    """Whether an archive is uncompressed; ImageNetV2's are, although they are named .tar.gz."""
    try:
        with tarfile.open(path, "r:"):
            return True
    except tarfile.ReadError:
        return False


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


class Sources(ExitStack):
    """A context that opens what a dataset is built from, and records the files' checksums."""

    def __init__(
        self, downloads: Path, datasets: Path, read: Callable[[Path, bool], Dataset]
    ) -> None:
        super().__init__()
        self.downloads, self.datasets, self._read = downloads, datasets, read
        self.digests: dict[str, str] = {}

    def published(self, name: str) -> Path:
        """Verify a published file, by its name in `downloads/sources.yaml`, and return its path."""
        file, path = published_file(name), self.downloads / name
        if not path.is_file():
            raise InputError("no such file", file=path, remedy=f"Download {file.urls[0]}")
        self.digests[name] = verify_file(path, file.expected)
        return path

    def custom_path(self, path: str) -> Path:
        """Expand `~` in a user's path, and record a file's checksum; refuse a missing path."""
        expanded = Path(path).expanduser()
        if expanded.is_file():
            self.digests[expanded.name] = file_digest(expanded)
        elif not expanded.is_dir():
            raise InputError("no such file or folder", file=path)
        return expanded

    def archive(self, name: str, wanted: Callable[[str], bool] = lambda path: True) -> Tree:
        """Verify and open a published archive, by its name in `downloads/sources.yaml`."""
        return self.tree(self.published(name), wanted)

    def tree(self, path: Path, wanted: Callable[[str], bool] = lambda path: True) -> Tree:
        """Open a folder or tar archive, which stays open until the dataset is built."""
        return self.enter_context(open_tree(path, wanted))

    def dataset(self, name: str, *, verify: bool = True) -> Dataset:
        """Read another dataset of the study; `verify` checks its images, too."""
        return self._read(self.datasets / name, verify)


_PLAIN_DTYPE = re.compile(r"[biufc][0-9]{1,2}|[SU][1-9][0-9]{0,6}|O8?|[?bBhHiIlLqQefdFD]")


class _Array(np.ndarray[Any, Any]):
    """An array in a pickle, whose shape, type and values are checked before they are set."""

    def __setstate__(self, state: Any, /) -> None:
        _, shape, dtype, fortran_order, data = state
        _require(isinstance(dtype, _DType), "an array without a dtype")
        is_shape = type(shape) is tuple and all(type(n) is int and n >= 0 for n in shape)
        _require(is_shape, f"an array of shape {shape}")
        plain, size = dtype.dtype, math.prod(shape)
        if plain.hasobject:
            _require(type(data) is list and len(data) == size, "an array of objects without them")
        else:
            if type(data) is str:  # written by Python 2
                data = data.encode("latin-1")
            _require(type(data) is bytes and len(data) == size * plain.itemsize,
                     f"an array of shape {shape} and type {plain} without its values")  # fmt: skip
        checked: Any = (1, shape, plain, bool(fortran_order), data)
        super().__setstate__(checked)
        check_text(self, "the pickle")


class _DType:
    """The dtype of an array in a pickle: numbers, text or objects, but no nested dtype."""

    __slots__ = ("dtype",)

    def __init__(self, code: Any) -> None:
        text = code.decode("latin-1") if isinstance(code, bytes) else code
        _require(isinstance(text, str) and _PLAIN_DTYPE.fullmatch(text), f"the type {code!r}")
        self.dtype = np.dtype(text)

    def __setstate__(self, state: Any, /) -> None:
        order: Any = state[1].decode("latin-1") if isinstance(state[1], bytes) else state[1]
        is_plain = order in ("<", ">", "|", "=") and state[2:5] == (None, None, None)
        _require(is_plain, f"a type with {state!r}")
        self.dtype = self.dtype.newbyteorder(order)


class _Function:
    """A function that a pickle may call but, unlike a plain function, cannot change."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def __setstate__(self, state: Any, /) -> None:
        raise pickle.UnpicklingError("it changes a function")


def _require(condition: object, content: str) -> None:
    """Raise an error that names a pickle's content, unless a condition is met."""
    if not condition:
        raise pickle.UnpicklingError(f"it contains {content}")


def _encode_latin1(text: str, encoding: str) -> bytes:
    """Encode text as a pickle that Python 3 wrote for Python 2 asks for, to restore bytes."""
    _require(encoding in ("latin1", "latin-1"), f"bytes encoded as '{encoding}'")
    return text.encode("latin-1")


_NDARRAY = _Function(lambda *_: _require(False, "an array that it builds itself"))


def _empty_array(class_: object, *_: object) -> _Array:
    """Return an array for a pickle to fill in; refuse classes other than NumPy's own."""
    _require(class_ is _NDARRAY, "an array of another class")
    return np.zeros(0).view(_Array)


_RECONSTRUCT = _Function(_empty_array)
_ALLOWED = {
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): _Function(lambda code, *_: _DType(code)),
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("_codecs", "encode"): _Function(_encode_latin1),
    ("__builtin__", "bytes"): _Function(lambda: b""),  # empty bytes in protocols 0 to 2
}


# The reader in C takes the size of its table of shared values from the file, which can ask for more
# memory than there is; that in Python uses a dictionary.
class _Unpickler(pickle._Unpickler):
    """Unpickles plain values and arrays; refuses all other classes and functions."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it calls {module}.{name}")
        return _ALLOWED[module, name]


def load_plain_pickle(file: IO[bytes], name: object) -> Any:
    """Read a pickle of plain values and arrays; refuse one with anything else."""
    try:
        return _Unpickler(file, encoding="bytes").load()
    # Damaged pickles raise many types of exceptions (IndexError, UnicodeDecodeError, ...).
    except Exception as error:
        problem = f"not a pickle of plain values and arrays ({error})"
        remedy = "Do not trust the file: download it from its publisher"
        raise InputError(problem, file=name, remedy=remedy) from error


def read_npy(path: Path) -> npt.NDArray[Any]:
    """Read the array of an .npy file; Python objects in it have to be plain values."""
    with path.open("rb") as file:
        return read_npy_stream(file, path)


def npz_array(path: Path, key: str) -> npt.NDArray[Any]:
    """Read one array of an .npz file; Python objects in it have to be plain values."""
    return read_npy_stream(member_stream(path, key), f"{path}: {key}")


def read_npy_stream(file: IO[bytes], name: object) -> npt.NDArray[Any]:
    """Read an array in .npy format; Python objects in it have to be plain values."""
    with readable(str(name), "a readable array, perhaps truncated", *UNREADABLE):
        _, dtype = read_header(file)
        if dtype.hasobject:
            return np.asarray(load_plain_pickle(file, name))
        file.seek(0)
        return check_text(np.lib.format.read_array(file, allow_pickle=False), name)
