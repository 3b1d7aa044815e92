"""Every image of a dataset in four orientations, read from any source of its pixels."""

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.inference.readers import Reader

ORIENTATIONS = 4


def quarter_turns(images: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Turn square images counter-clockwise by 0, 90, 180 and 270 degrees."""
    return np.stack([np.rot90(images, k, axes=(1, 2)) for k in range(ORIENTATIONS)], axis=1)


class TurnedReader:
    """Read image i // 4 of a source, turned counter-clockwise by i % 4 quarter turns, as image i.

    Parameters
    ----------
    reader : Reader
        Of square images.
    name : str
        Name of the dataset, for messages.

    Raises
    ------
    InputError
        If the images are not square: turned by 90 degrees they would have another shape.
    """

    def __init__(self, reader: Reader, name: str) -> None:
        height, width, _ = reader.shape
        if height != width:
            raise InputError(
                f"images of {height} × {width} pixels cannot be turned by 90 degrees",
                file=name,
                field="rotation",
                remedy="Leave the dataset out, or crop its images to squares",
            )
        self._reader, self.shape = reader, reader.shape

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Read and turn images."""
        first, last = start // ORIENTATIONS, -(-stop // ORIENTATIONS)
        images = np.empty((last - first, *self.shape), np.uint8)
        self._reader.read(first, last, images)
        turned = quarter_turns(images).reshape(-1, *self.shape)
        skipped = start - ORIENTATIONS * first
        np.copyto(out, turned[skipped : skipped + stop - start])
