"""A dataset: labelled images in a fixed order, in memory or mapped from files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from matcheval.datasets.content import check_content, content_digest
from matcheval.datasets.images import EncodedImages, Images, MadeImages, Pixels
from matcheval.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled images in a fixed order; the position of an image is its index.

    Attributes
    ----------
    name : str
        Its name, for files and messages.
    images : uint8 array, shape (n, height, width, channels), EncodedImages or MadeImages
        Pixels, or image files; may be mapped from a file, or made when they are read. Instead of
        images, vectors: a float32 array, shape (n, 1, 1, d), with `max_value` 1.
    labels : int16 array, shape (n,)
        Classes, from 0.
    names : tuple of str
        Distinct names of the images in their source.
    classes : tuple of str
        Names of the classes, by label.
    max_value : int
        The pixel value that represents 1.0; 255 for image files.
    source : str
        Description of where the images come from, for human readers.
    sha256 : str
        `content_digest` of images and labels.
    provenance : mapping
        How it was built, as JSON values: kind, options, digests of the files, images left out.
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
        """The images as a uint8 array, shape (n, height, width, channels), or read like one.

        Raises
        ------
        InputError
            If the images are files, which have no common size.
        """
        if isinstance(self.images, EncodedImages):
            raise InputError(
                "its images are encoded files, without a common size",
                file=self.name,
                remedy="Give it 'resize', or use models with a transform of their own",
            )
        return self.images

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width and channels of every image.

        Raises
        ------
        InputError
            If the images are files, which have no common size.
        """
        height, width, channels = self.pixels.shape[1:]
        return height, width, channels

    @property
    def has_vectors(self) -> bool:
        """Whether it consists of vectors, such as features of a network, instead of images."""
        return not isinstance(self.images, EncodedImages) and self.images.dtype == np.float32

    def image(self, i: int) -> "Image":
        """Return one image as RGB.

        Parameters
        ----------
        i : int
            Index of the image, from 0.

        Returns
        -------
        PIL.Image.Image
            Mode RGB.

        Raises
        ------
        InputError
            If an image file cannot be decoded, the pixels have neither 1 nor 3 channels, or there
            are vectors instead of images.
        """
        from matcheval.datasets.decoding import UnreadableImageError, array_image, decode_rgb

        if self.has_vectors:
            raise InputError("consists of vectors, not of images", file=self.name)
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
    """Build a `Dataset` from arrays, which are checked and whose digest is computed.

    Parameters
    ----------
    name : str
        Its name, for files and messages.
    images : uint8 array, shape (n, height, width, channels), EncodedImages or MadeImages
        Pixels in 0..max_value, or image files; or vectors as a float32 array, shape (n, 1, 1, d).
    labels : integer array, shape (n,)
        Classes in 0..len(classes) - 1.
    classes : tuple of str
        Names of the classes, by label.
    max_value : int
        The pixel value that represents 1.0, in 1..255.
    source : str
        Description of where the images come from, for human readers.
    names : sequence of str, optional
        Distinct names of the images; by default their positions, with at least five digits.
    provenance : mapping, optional
        How it was built, as JSON values.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        If shapes, dtypes or values are not as described above, or there are no images.
    """
    labels = np.asarray(labels)
    names = tuple(f"{i:05d}" for i in range(len(labels))) if names is None else tuple(names)
    check_content(images, labels, names, len(classes), max_value, file=name)
    if max_value < 255 and isinstance(images, np.ndarray) and images.dtype == np.uint8:
        largest = images.max()
        if largest > max_value:
            raise InputError(
                f"pixels reach {largest}, above max_value {max_value}", file=name, field="images"
            )
    labels = labels.astype(np.int16)
    digest = content_digest(images, labels)
    provenance = dict(provenance or {})
    return Dataset(
        name, images, labels, names, tuple(classes), max_value, source, digest, provenance
    )


def image_shape(dataset: Dataset) -> tuple[int, int, int]:
    """Return the size of a dataset's images as they are stored."""
    if dataset.stored != "files":
        return dataset.image_shape
    first = dataset.image(0)
    return first.height, first.width, 3
