"""A dataset in memory, or mapped from its files: labelled images in a fixed order."""

import hashlib
import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

_CHUNK_BYTES = 1 << 22  # what is hashed or written at a time of images that may exceed the memory


@dataclass(frozen=True, eq=False)
class EncodedImages:
    """Image files (JPEG, PNG, WebP, ...) back to back.

    Attributes
    ----------
    data : uint8 array, shape (n_bytes,)
        All files, perhaps mapped.
    offsets : int64 array, shape (n,)
        Where each begins; it ends where the next one begins, the last one with the data.
    """

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.offsets)

    def encoded(self, i: int) -> memoryview:
        """Return the bytes of one image file, without a copy."""
        stop = self.offsets[i + 1] if i + 1 < len(self) else len(self.data)
        return memoryview(self.data[self.offsets[i] : stop])  # type: ignore[arg-type]


Images = npt.NDArray[np.uint8] | EncodedImages


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled images in a fixed order; the position of an image is its index.

    Attributes
    ----------
    name : str
        What files and messages call it.
    images : uint8 array, shape (n, height, width, channels), or EncodedImages
        Pixels, or image files; perhaps mapped from the file.
    labels : int16 array, shape (n,)
        Classes from 0.
    names : tuple of str
        What each image is called where it comes from; no two alike.
    classes : tuple of str
        Names of the classes, by label.
    max_value : int
        The pixel value that means 1.0; 255 for image files.
    source : str
        Where the images come from, for a reader.
    sha256 : str
        `content_digest` of images and labels.
    provenance : mapping
        How it was made, as JSON values: kind, options, digests of the files, images left out.
    """

    name: str
    images: Images
    labels: npt.NDArray[np.int16]
    names: tuple[str, ...]
    classes: tuple[str, ...]
    max_value: int
    source: str
    sha256: str
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of classes, whether or not all of them occur."""
        return len(self.classes)

    @property
    def stored(self) -> str:
        """How the images are kept: `array` or `files`."""
        return "files" if isinstance(self.images, EncodedImages) else "array"

    @property
    def pixels(self) -> npt.NDArray[np.uint8]:
        """The images as an array, shape (n, height, width, channels).

        Raises
        ------
        InputError
            If they are image files, which have no common size.
        """
        if isinstance(self.images, EncodedImages):
            raise InputError(
                "its images are encoded files, of sizes of their own",
                file=self.name,
                remedy="Resize them first: models with a transform of their own do",
            )
        return self.images

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width and channels of every image; an `InputError` for image files."""
        height, width, channels = self.pixels.shape[1:]
        return height, width, channels

    def image(self, i: int) -> "Image":
        """Return one image as RGB.

        Raises
        ------
        InputError
            If a file cannot be decoded, or an array's image has neither 1 nor 3 channels.
        """
        from matcheval.datasets.decoding import UnreadableImageError, array_image, decode_rgb

        if not isinstance(self.images, EncodedImages):
            return array_image(self.images[i], self.max_value)
        try:
            return decode_rgb(self.images.encoded(i))
        except UnreadableImageError as error:
            raise InputError(
                f"image {i} ({self.names[i]}) cannot be decoded ({error})",
                file=self.name,
                remedy="Delete the dataset's folder and build it again",
            ) from error


def make_dataset(
    name: str,
    images: Images,
    labels: npt.NDArray[Any],
    *,
    classes: tuple[str, ...],
    max_value: int,
    source: str,
    names: Sequence[str] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Dataset:
    """Check arrays, compute their digest and make a `Dataset` of them.

    Parameters
    ----------
    name, classes, max_value, source, provenance
        As the attributes of `Dataset`.
    images : uint8 array, shape (n, height, width, channels), or EncodedImages
        Pixels in 0..max_value.
    labels : integer array, shape (n,)
        Classes in 0..len(classes) - 1.
    names : sequence of str, optional
        Names of the images; their positions by default.

    Raises
    ------
    InputError
        If shapes, dtypes or values are not as said above, or there are no images.
    """
    labels = np.asarray(labels)
    names = tuple(f"{i:05d}" for i in range(len(labels))) if names is None else tuple(names)
    check_content(images, labels, names, len(classes), max_value, file=name)
    if max_value < 255 and not isinstance(images, EncodedImages) and images.max() > max_value:
        raise InputError(
            f"pixels reach {images.max()}, above max_value {max_value}", file=name, field="images"
        )
    labels = labels.astype(np.int16)
    digest = content_digest(images, labels)
    provenance = dict(provenance or {})
    return Dataset(
        name, images, labels, names, tuple(classes), max_value, source, digest, provenance
    )


def content_digest(images: Images, labels: npt.NDArray[np.int16]) -> str:
    """SHA-256 of images and labels, and of how they are divided.

    Parameters
    ----------
    images : uint8 array, shape (n, height, width, channels), or EncodedImages
        Read in chunks, so that a mapped file need not fit in memory.
    labels : int16 array, shape (n,)

    Returns
    -------
    str
        64 hexadecimal digits: of an array, of the shapes as text and the bytes in C order; of
        files, of the word "files", their bytes, their offsets and their labels.
    """
    if isinstance(images, EncodedImages):
        digest = hashlib.sha256(b"files")
        parts = chunks(images.data)
    else:
        digest = hashlib.sha256(f"images {images.shape} labels {labels.shape}".encode())
        parts = chunks(images)
    for part in parts:
        digest.update(part)
    if isinstance(images, EncodedImages):
        digest.update(np.ascontiguousarray(images.offsets, dtype="<i8").data)
    digest.update(np.ascontiguousarray(labels, dtype="<i2").data)
    return digest.hexdigest()


def chunks(array: npt.NDArray[np.uint8]) -> Iterator[memoryview]:
    """Give the bytes of an array in C order, some megabytes at a time.

    A mapped file is read and not paged in, so that this process does not grow by its size.
    """
    if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap) and array.filename:
        with open(array.filename, "rb") as file:  # noqa: PTH123 - a path or a text
            file.seek(array.offset)
            while part := file.read(_CHUNK_BYTES):
                yield memoryview(part)
        return
    rows = max(1, _CHUNK_BYTES // max(1, int(np.prod(array.shape[1:]))))
    for start in range(0, len(array), rows):
        yield np.ascontiguousarray(array[start : start + rows]).data
        release(array)


def release(array: npt.NDArray[Any]) -> None:
    """Let go of the pages of a mapped file that were read; they are read again where needed.

    Without it, a process seems to hold as much of a file as it has ever read of it.
    """
    base: Any = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.obj if isinstance(base, memoryview) else base.base
    if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):
        base.madvise(mmap.MADV_DONTNEED)


def check_content(
    images: Images,
    labels: npt.NDArray[Any],
    names: Sequence[str],
    n_classes: int,
    max_value: int,
    file: object,
) -> None:
    """Refuse what is no set of labelled images; `file` is named in the message.

    Raises
    ------
    InputError
        Naming what is wrong.
    """
    _check_images(images, file)
    if labels.shape != (len(images),) or labels.dtype.kind not in "iu":
        raise InputError(
            f"has shape {labels.shape} and dtype {labels.dtype} for {len(images)} images",
            file=file,
            field="labels",
            remedy="Labels are whole numbers, one per image",
        )
    if len(names) != len(labels) or len(set(names)) != len(names):
        raise InputError(
            f"{len(names)} names, {len(set(names))} different ones, for {len(images)} images",
            file=file,
            field="names",
        )
    if not 1 <= max_value <= 255:
        raise InputError(f"is {max_value}, not in 1..255", file=file, field="max_value")
    bad = (labels < 0) | (labels >= n_classes)
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"row {row}: {labels[row]} is not one of {n_classes} classes", file=file, field="labels"
        )


def _check_images(images: Images, file: object) -> None:
    if not isinstance(images, EncodedImages):
        if images.ndim != 4 or images.dtype != np.uint8 or 0 in images.shape:
            raise InputError(
                f"has shape {images.shape} and dtype {images.dtype}",
                file=file,
                field="images",
                remedy="Images are uint8, n × height × width × channels, none of them 0",
            )
        return
    bounds = np.append(images.offsets, len(images.data))
    if len(images) == 0 or images.data.ndim != 1 or bounds[0] != 0 or (np.diff(bounds) <= 0).any():
        raise InputError(
            f"{len(images)} offsets do not divide {images.data.size} bytes into image files",
            file=file,
            field="images",
        )


def image_shape(dataset: Dataset) -> tuple[int, int, int]:
    """Height, width and channels of a dataset's images as they are stored.

    Of image files, those of the first, in RGB: a reader makes sure that the others have them too.
    """
    if dataset.stored == "array":
        return dataset.image_shape
    first = dataset.image(0)
    return first.height, first.width, 3
