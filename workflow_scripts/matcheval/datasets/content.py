"""The content of a dataset, images and labels: its digest and its validity."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.datasets.images import EncodedImages, Images, MadeImages, chunks
from matcheval.errors import InputError


def content_digest(images: Images, labels: npt.NDArray[np.int16]) -> str:
    """Compute the SHA-256 of images and labels, which also depends on how the images are divided.

    Parameters
    ----------
    images : uint8 array, shape (n, height, width, channels), float32 array, shape (n, 1, 1, d),\
             EncodedImages or MadeImages
        Read in chunks, so that a mapped file need not fit in memory.
    labels : int16 array, shape (n,)
        Their classes.

    Returns
    -------
    str
        64 hexadecimal digits. For an array of pixels or vectors, of the shapes as text, the values
        in C order and the labels; for encoded images, of the word "files", their bytes, their
        offsets and the labels; for images that are made when they are read, which it does not make,
        of their recipe and the labels.
    """
    parts: Iterable[bytes | memoryview]
    if isinstance(images, EncodedImages):
        digest = hashlib.sha256(b"files")
        parts = chunks(images.data)
    elif isinstance(images, MadeImages):
        digest, parts = hashlib.sha256(b"made"), [images.recipe.encode()]
    else:
        digest = hashlib.sha256(f"images {images.shape} labels {labels.shape}".encode())
        if images.dtype != np.uint8:
            digest.update(f" {images.dtype}".encode())
        parts = chunks(images)
    for part in parts:
        digest.update(part)
    if isinstance(images, EncodedImages):
        digest.update(np.ascontiguousarray(images.offsets, dtype="<i8").data)
    digest.update(np.ascontiguousarray(labels, dtype="<i2").data)
    return digest.hexdigest()


def check_content(
    images: Images,
    labels: npt.NDArray[Any],
    names: Sequence[str],
    n_classes: int,
    max_value: int,
    file: object,
) -> None:
    """Check that images, labels and names form a valid set of labelled images."""
    _check_images(images, file)
    if labels.shape != (len(images),) or labels.dtype.kind not in "iu":
        raise InputError(
            f"has shape {labels.shape} and dtype {labels.dtype} for {len(images)} images",
            file=file,
            field="labels",
            remedy="Labels are integers, one per image",
        )
    if len(names) != len(labels) or len(set(names)) != len(names):
        raise InputError(
            f"{len(names)} names, {len(set(names))} of them distinct, for {len(images)} images",
            file=file,
            field="names",
        )
    if not 1 <= max_value <= 255:
        raise InputError(f"is {max_value}, not in 1..255", file=file, field="max_value")
    bad = (labels < 0) | (labels >= n_classes)
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"row {row} (from 0): {labels[row]} is not one of {n_classes} classes",
            file=file,
            field="labels",
        )


def _check_images(images: Images, file: object) -> None:
    if not isinstance(images, EncodedImages):
        is_vectors = images.dtype == np.float32 and images.shape[1:3] == (1, 1)
        if images.ndim != 4 or 0 in images.shape or not (images.dtype == np.uint8 or is_vectors):
            raise InputError(
                f"has shape {images.shape} and dtype {images.dtype}",
                file=file,
                field="images",
                remedy="Images are uint8, n × height × width × channels, none of which is 0",
            )
        if is_vectors and not np.isfinite(images).all():
            raise InputError("a value is not finite", file=file, field="images")
        return
    bounds = np.append(images.offsets, len(images.data))
    if len(images) == 0 or images.data.ndim != 1 or bounds[0] != 0 or (np.diff(bounds) <= 0).any():
        raise InputError(
            f"{len(images)} offsets do not divide {images.data.size} bytes into image files",
            file=file,
            field="images",
        )
