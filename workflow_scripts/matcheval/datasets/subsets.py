"""Some images of a dataset, as a dataset of their own."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from matcheval.datasets.dataset import Dataset, EncodedImages, Images, make_dataset


def take_images(
    dataset: Dataset,
    rows: Sequence[int],
    *,
    name: str,
    source: str,
    provenance: Mapping[str, Any] | None = None,
) -> Dataset:
    """Take images by position, pixels or files as they are.

    Parameters
    ----------
    dataset : Dataset
    rows : sequence of int
        Positions in the order wanted, each once.
    name, source, provenance
        Of the new dataset; names of images and classes stay.

    Raises
    ------
    InputError
        If there are no rows, or one is there twice.
    """
    at = np.asarray(rows, np.int64)
    images: Images
    if isinstance(dataset.images, EncodedImages):
        files = [np.frombuffer(dataset.images.encoded(int(i)), np.uint8) for i in at]
        ends = np.cumsum([len(file) for file in files], dtype=np.int64)
        offsets = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
        images = EncodedImages(np.concatenate([np.empty(0, np.uint8), *files]), offsets)
    else:
        images = np.ascontiguousarray(dataset.images[at])
    return make_dataset(
        name,
        images,
        dataset.labels[at],
        classes=dataset.classes,
        max_value=dataset.max_value,
        source=source,
        names=[dataset.names[i] for i in at],
        provenance=provenance,
    )
