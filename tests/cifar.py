"""The real CIFAR-10 images; tests that need them are skipped where the files are missing."""

import io
import os
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from image_sets import dataset
from matcheval.datasets.dataset import Dataset
from matcheval.datasets.label_spaces import CIFAR10 as CLASSES

DATA = Path(os.environ.get("MATCHEVAL_SHARED", Path(__file__).parents[2] / "shared"))
CIFAR = DATA / "data" / "cifar10"
WEIGHTS = CIFAR / "weights"
needs_cifar = pytest.mark.skipif(
    not CIFAR.is_dir(),
    reason=f"no CIFAR-10 images at {CIFAR}; MATCHEVAL_SHARED names the folder above data/",
)


@cache
def cifar(part: str, n: int, start: int = 0) -> Dataset:
    """Consecutive images of `train` or `test`."""
    table = next(pq.ParquetFile(CIFAR / f"{part}.parquet").iter_batches(start + n))
    encoded = table.column("image").to_pylist()[start : start + n]
    encoded = [image["bytes"] if isinstance(image, dict) else image for image in encoded]
    images = np.stack(
        [np.asarray(Image.open(io.BytesIO(image)).convert("RGB")) for image in encoded]
    )
    labels = np.array(table.column("label").to_pylist()[start : start + n])
    return dataset(images, labels, f"cifar10-{part}-{n}", CLASSES)
