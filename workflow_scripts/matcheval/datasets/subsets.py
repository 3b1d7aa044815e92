"""Subsets of a dataset."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.images import EncodedImages, Images


def take_images(
    dataset: Dataset,
    rows: Sequence[int],
    *,
    name: str,
    source: str,
    provenance: Mapping[str, Any] | None = None,
) -> Dataset:
    """Build a dataset from some images of another one, which are not decoded."""
    at = np.asarray(rows, np.int64)
    images: Images
    if isinstance(dataset.images, EncodedImages):
        files = [np.frombuffer(dataset.images.encoded(int(i)), np.uint8) for i in at]
        ends = np.cumsum([len(file) for file in files], dtype=np.int64)
        offsets = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
        images = EncodedImages(np.concatenate([np.empty(0, np.uint8), *files]), offsets)
    else:
        pixels: npt.NDArray[Any] = np.ascontiguousarray(dataset.images[at])
        images = pixels
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
