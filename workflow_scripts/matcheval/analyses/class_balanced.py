"""Accuracy on class-balanced subsets, to see whether the mix of classes explains a change.

Recht et al. (2019), arXiv 1902.10811, appendix B.2.9.
"""

from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.io import tables
from matcheval.io.text_tables import with_interval
from matcheval.predictions.correctness import Correctness
from matcheval.settings import Seed
from matcheval.statistics.intervals import accuracy_columns
from matcheval.study.tables import DatasetTableAnalysis, DatasetTableSettings

SCHEMA = tables.TableSchema(
    "accuracies on balanced classes",
    tables.MODEL,
    tables.DATASET,
    *tables.accuracy("all", "size of the dataset"),
    *tables.accuracy("balanced", "datapoints of the subset, equally many of each class"),
    tables.fraction("accuracy_by_class", "mean over classes of the accuracy within each class"),
    tables.Column("per_class", pa.int32(), "datapoints", "size of each class in the subset"),
    tables.Column("seed", pa.int64(), "1", "seed of the subset"),
    tables.CONFIDENCE_LEVEL,
    shown={
        "Model": "{model}",
        "All {n_all:,} (%) [{level} CI]": with_interval("accuracy_all"),
        "{per_class:,} per class (%) [{level} CI]": with_interval("accuracy_balanced"),
        "Mean over classes (%)": "{accuracy_by_class:.1%}",
    },
)


def balanced_rows(labels: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.int64]:
    """Draw equally many datapoints of each class at random; return their row numbers, sorted."""
    classes, counts = np.unique(labels, return_counts=True)
    rng = np.random.default_rng(seed)
    per_class = int(counts.min())
    chosen = [rng.choice(np.flatnonzero(labels == c), per_class, replace=False) for c in classes]
    return np.sort(np.concatenate(chosen))


def tabulate(
    correctness: Correctness, dataset: str, file: str = "", *, seed: int = 0,
    confidence: float = 0.95,
) -> pd.DataFrame:  # fmt: skip
    """Tabulate accuracies on all datapoints, on a class-balanced subset, and averaged by class."""
    labels = correctness.labels
    rows = balanced_rows(labels, seed)
    classes, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    table = []
    for model, right in zip(correctness.models, correctness.right, strict=True):
        by_class = np.bincount(inverse, weights=right, minlength=len(classes)) / counts
        table.append({
            "model": model, "dataset": dataset, **accuracy_columns("all", right, confidence),
            **accuracy_columns("balanced", right[rows], confidence),
            "accuracy_by_class": float(by_class.mean()), "per_class": len(rows) // len(classes),
            "seed": seed, "confidence": confidence,
        })  # fmt: skip
    return pd.DataFrame(table, columns=SCHEMA.names)


class ClassBalancedSettings(DatasetTableSettings):
    """Datasets to tabulate, and the seed of their class-balanced subsets."""

    seed: Seed = Field(0, description="Seed of the random subsets")


class ClassBalanced(DatasetTableAnalysis):
    """Compare accuracy on a dataset with accuracy on a random class-balanced subset."""

    name: ClassVar[str] = "class_balanced"
    caption: ClassVar[str] = (
        "Accuracies on **{{ snakemake.wildcards.dataset }}**: on all images, on a random subset "
        "with equally many images of each class, and averaged over classes."
    )
    Settings: ClassVar[type[ClassBalancedSettings]] = ClassBalancedSettings
