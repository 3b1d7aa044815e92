"""A dataset: labelled images in a fixed order, in memory or mapped from files."""

import hashlib
import itertools
import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from matcheval.datasets.label_spaces import compare_classes
from matcheval.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

_CHUNK_BYTES = 1 << 22  # read at a time from images that may be larger than the memory
_MADE_BYTES = 1 << 20  # made at a time: as float64 and in several copies, tens of megabytes


@dataclass(frozen=True, eq=False)
class EncodedImages:
    """Image files (JPEG, PNG, WebP, ...), concatenated in one array of bytes."""

    data: npt.NDArray[np.uint8]  # the bytes of all files; may be mapped from a file
    offsets: npt.NDArray[np.int64]  # position of the first byte of each file

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.offsets)

    def encoded(self, i: int) -> memoryview:
        """Return the bytes of one image file, without copying them."""
        stop = self.offsets[i + 1] if i + 1 < len(self) else len(self.data)
        return memoryview(self.data[self.offsets[i] : stop])  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class MadeImages:
    """Images that are computed at each access by index, as of an array; threads may share them."""

    shape: tuple[int, int, int, int]
    recipe: str  # all that the pixels depend on
    # Makes the images of some indices; what it makes of an index must not depend on the others.
    make: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.uint8]]
    dtype: ClassVar[np.dtype[np.uint8]] = np.dtype(np.uint8)
    ndim: ClassVar[int] = 4

    def __len__(self) -> int:
        """Return the number of images."""
        return self.shape[0]

    @property
    def per_block(self) -> int:
        """Number of images to make at a time, so that memory is bounded."""
        return max(1, _MADE_BYTES // int(np.prod(self.shape[1:])))

    def __getitem__(self, key: Any) -> npt.NDArray[np.uint8]:
        """Make one image, for an integer, or several, for any other index of an array."""
        chosen = np.arange(len(self))[key]
        rows = np.atleast_1d(chosen)
        made = np.empty((len(rows), *self.shape[1:]), np.uint8)
        for start in range(0, len(rows), self.per_block):
            block = slice(start, start + self.per_block)
            made[block] = self.make(rows[block])
        return made if chosen.ndim else made[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Make all images."""
        return self[:].astype(dtype or np.uint8, copy=False)


# Vectors, such as features of a network, are stored as float32 "images" of 1 × 1 pixel, with a
# channel per feature.
Pixels = npt.NDArray[np.uint8] | npt.NDArray[np.float32] | MadeImages
Images = Pixels | EncodedImages


def byte_chunks(array: Pixels) -> Iterator[memoryview]:
    """Yield the bytes of an array in C order, a few megabytes at a time."""
    rows = max(1, _CHUNK_BYTES // max(1, int(np.prod(array.shape[1:]))))
    for start in range(0, len(array), rows):
        yield np.ascontiguousarray(array[start : start + rows]).data.cast("B")
        release(array)


def release(images: npt.NDArray[Any] | EncodedImages | MadeImages) -> None:
    """Free the memory of images that are mapped from a file; they are read again when needed."""
    base: Any = images.data if isinstance(images, EncodedImages) else images
    while isinstance(base, np.ndarray | memoryview):
        base = base.obj if isinstance(base, memoryview) else base.base
    if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):
        base.madvise(mmap.MADV_DONTNEED)


def content_digest(images: Images, labels: npt.NDArray[np.int16]) -> str:
    """Compute the SHA-256 of images and labels; `MadeImages` enter by their recipe."""
    parts: Iterable[bytes | memoryview]
    if isinstance(images, EncodedImages):
        offsets = np.ascontiguousarray(images.offsets, dtype="<i8").data
        parts = itertools.chain([b"files"], byte_chunks(images.data), [offsets])
    elif isinstance(images, MadeImages):
        parts = [b"made", images.recipe.encode()]
    else:
        dtype = "" if images.dtype == np.uint8 else f" {images.dtype}"
        start = f"images {images.shape} labels {labels.shape}{dtype}"
        parts = itertools.chain([start.encode()], byte_chunks(images))
    digest = hashlib.sha256()
    for part in itertools.chain(parts, [np.ascontiguousarray(labels, dtype="<i2").data]):
        digest.update(part)
    return digest.hexdigest()


def check_content(
    images: Images, labels: npt.NDArray[Any], names: Sequence[str], n_classes: int, file: object
) -> None:
    """Raise an error unless images, labels and names form a valid set of labelled images."""
    for where, problem in _find_problems(images, labels, names, n_classes):
        raise InputError(problem, file=file, field=where)


def _find_problems(
    images: Images, labels: npt.NDArray[Any], names: Sequence[str], n_classes: int
) -> Iterator[tuple[str, str]]:
    """Yield invalid fields and what is wrong; later ones may only follow from the first."""
    n, different = len(images), len(set(names))
    if isinstance(images, EncodedImages):
        bounds = np.append(images.offsets, len(images.data))
        if not n or images.data.ndim != 1 or bounds[0] != 0 or (np.diff(bounds) <= 0).any():
            yield "images", f"{n} offsets do not divide {images.data.size} bytes into image files"
    else:
        is_vectors = images.dtype == np.float32 and images.shape[1:3] == (1, 1)
        if images.ndim != 4 or 0 in images.shape or not (images.dtype == np.uint8 or is_vectors):
            shape = f"has shape {images.shape} and dtype {images.dtype}"
            yield "images", f"{shape}. Images are uint8, n × height × width × channels, none 0"
        if is_vectors and not np.isfinite(images).all():
            yield "images", "a value is not finite"
    if labels.shape != (n,) or labels.dtype.kind not in "iu":
        shape = f"has shape {labels.shape} and dtype {labels.dtype} for {n} images"
        yield "labels", f"{shape}. Labels are integers, one per image"
    if not len(names) == n == different:
        yield "names", f"{len(names)} names, {different} of them distinct, for {n} images"
    for row in np.flatnonzero((labels < 0) | (labels >= n_classes)):
        yield "labels", f"row {row} (from 0): {labels[row]} is not one of {n_classes} classes"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled images in a fixed order; the position of an image is its index."""

    name: str
    images: Images
    labels: npt.NDArray[np.int16]  # from 0
    names: tuple[str, ...]  # distinct names of the images in their source
    classes: tuple[str, ...]  # by label
    max_value: int  # the pixel value that represents 1.0; 255 for image files, 1 for vectors
    source: str  # where the images come from, for human readers
    sha256: str  # `content_digest` of images and labels
    # How it was built, as JSON values: kind, options, digests of files, images left out.
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of classes, including those without images."""
        return len(self.classes)

    @property
    def stored(self) -> str:
        """How the images are stored: `array` (pixels), `files` (encoded) or `made` (not at all)."""
        if isinstance(self.images, MadeImages):
            return "made"
        return "files" if isinstance(self.images, EncodedImages) else "array"

    @property
    def pixels(self) -> Pixels:
        """The images as an array (n, height, width, channels); for encoded files, an error."""
        if isinstance(self.images, EncodedImages):
            remedy = "Give it 'resize', or use models with a transform of their own"
            problem = "its images are encoded files, without a common size"
            raise InputError(problem, file=self.name, remedy=remedy)
        return self.images

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width and channels of every image; for encoded files, an error."""
        return self.pixels.shape[1:]

    @property
    def has_vectors(self) -> bool:
        """Whether it consists of vectors, such as features of a network, instead of images."""
        return not isinstance(self.images, EncodedImages) and self.images.dtype == np.float32

    def image(self, i: int) -> "Image":
        """Return one image as an RGB image of Pillow."""
        from matcheval.datasets.decoding import UnreadableImageError, array_image, decode_rgb

        if self.has_vectors:
            raise InputError("consists of vectors, not of images", file=self.name)
        if not isinstance(self.images, EncodedImages):
            return array_image(self.images[i], self.max_value)
        try:
            return decode_rgb(self.images.encoded(i))
        except UnreadableImageError as error:
            problem = f"image {i} ({self.names[i]}) cannot be decoded ({error})"
            remedy = "Delete the dataset's folder and build it again"
            raise InputError(problem, file=self.name, remedy=remedy) from error


def make_dataset(
    name: str, images: Images, labels: npt.NDArray[Any], *,
    classes: tuple[str, ...], max_value: int, source: str,
    names: Sequence[str] | None = None, provenance: Mapping[str, Any] | None = None,
) -> Dataset:  # fmt: skip
    """Build a `Dataset` from images and labels: check them, and compute their digest."""
    labels = np.asarray(labels)
    names = tuple(f"{i:05d}" for i in range(len(labels))) if names is None else tuple(names)
    check_content(images, labels, names, len(classes), file=name)
    if max_value < 255 and isinstance(images, np.ndarray) and images.dtype == np.uint8:
        largest = images.max()
        if largest > max_value:
            problem = f"pixels reach {largest}, above max_value {max_value}"
            raise InputError(problem, file=name, field="images")
    labels = labels.astype(np.int16)
    digest = content_digest(images, labels)
    return Dataset(
        name, images, labels, names, tuple(classes), max_value, source, digest, provenance or {}
    )


def check_alike(datasets: Sequence[Dataset], file: object) -> None:
    """Raise an error unless datasets have the same classes, image shape and range of pixels."""
    first, *others = datasets
    for other in others:
        for name in ("classes", "image_shape", "max_value"):
            ours, theirs = getattr(first, name), getattr(other, name)
            if ours != theirs:
                problem = f"is {theirs} in {other.name}, but {ours} in {first.name}"
                if name == "classes":
                    problem = f"{other.name} compared with {first.name}: "
                    problem += compare_classes(theirs, ours)
                remedy = "Use sets that do not differ in it"
                raise InputError(problem, file=file, field=name, remedy=remedy)


def stored_shape(dataset: Dataset) -> tuple[int, int, int]:
    """Return height, width and channels of all stored images or, if they are files, the first."""
    if dataset.stored != "files":
        return dataset.image_shape
    first = dataset.image(0)
    return first.height, first.width, 3


def take_images(
    dataset: Dataset, rows: Sequence[int] | npt.NDArray[np.integer], *,
    name: str, source: str, provenance: Mapping[str, Any] | None = None,
) -> Dataset:  # fmt: skip
    """Build a dataset from the images at some rows of another one, without decoding files."""
    indices = np.asarray(rows, np.int64)
    images: Any
    if isinstance(dataset.images, EncodedImages):
        files = [dataset.images.encoded(i) for i in indices]
        offsets = np.cumsum([0, *map(len, files)], dtype=np.int64)[:-1]
        images = EncodedImages(np.frombuffer(b"".join(files), np.uint8), offsets)
    else:
        images = np.ascontiguousarray(dataset.images[indices])
    return make_dataset(
        name, images, dataset.labels[indices],
        classes=dataset.classes, max_value=dataset.max_value, source=source,
        names=[dataset.names[i] for i in indices], provenance=provenance,
    )  # fmt: skip
