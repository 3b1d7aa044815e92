"""What it changes that 0.001 is added to grey levels before they are truncated: no timing.

    MATCHEVAL_SHARED=FOLDER python benchmarks/rounding.py     # images in FOLDER/data/cifar10

The 19 corruptions of CIFAR-10-C (`frost_procedural` in place of `frost`) in severities 1, 3 and 5,
of the first 1,000 test images, with the addition and without: share of grey levels that differ (%),
by how much at most, and what it adds to the accuracy of ResNet-20, in percentage points.
"""

import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
from common import write_results

from cifar import CIFAR, cifar
from image_sets import dataset
from matcheval.datasets.corruptions import operations
from matcheval.datasets.corruptions.applying import corrupt
from matcheval.datasets.corruptions.names import EXTRA, STANDARD
from matcheval.datasets.folders import write_dataset
from matcheval.inference.job import predict_datasets
from matcheval.inference.settings import InferenceConfig
from matcheval.inference.store import ModelFiles
from matcheval.models.rows import ModelSource
from matcheval.predictions.files import read_predictions

NETWORKS = {"resnet20": 20}
N = 1_000


def accuracies(images: np.ndarray, of) -> list[float]:
    """Accuracy of every network on changed images."""
    with tempfile.TemporaryDirectory() as folder:
        write_dataset(dataset(images, of.labels, "set", of.classes), Path(folder) / "set")
        models = []
        for name, depth in NETWORKS.items():
            weights = CIFAR / "weights" / f"{name}.safetensors"
            row = {"source": str(weights), "architecture": "resnet_a", "width": "16",
                   "depth": str(depth), "normalization": "imagenet"}  # fmt: skip
            models.append(ModelFiles(ModelSource.from_row(name, "checkpoint", row), weights))
        predict_datasets(models, {"set": Path(folder) / "set"}, Path(folder), (),
                         config=InferenceConfig())  # fmt: skip
        files = [next(Path(folder).rglob(f"{name}.parquet")) for name in NETWORKS]
        return [100 * float(read_predictions(file).correct.mean()) for file in files]


def measure(name: str, of) -> list[dict]:
    """A row per severity."""
    rows = []
    for severity in (1, 3, 5):
        added = corrupt(of.images[:], name, severity, range(N))
        with patch.object(operations, "_ROUNDING", 0.0):
            plain = corrupt(of.images[:], name, severity, range(N))
        change = np.abs(added.astype(int) - plain)
        row = {"corruption": name, "severity": severity,
               "differ": round(100 * float((change > 0).mean()), 3),
               "most": int(change.max())}  # fmt: skip
        both = [[0.0] * len(NETWORKS)] * 2
        if change.any():
            both = [accuracies(images, of) for images in (added, plain)]
        difference = [round(a - b, 2) for a, b in zip(*both, strict=True)]
        rows.append(row | dict(zip(NETWORKS, difference, strict=True)))
    return rows


if __name__ == "__main__":
    known = cifar("test", N)
    names = ["frost_procedural" if one == "frost" else one for one in (*STANDARD, *EXTRA)]
    write_results("rounding", [row for name in names for row in measure(name, known)], "numpy")
