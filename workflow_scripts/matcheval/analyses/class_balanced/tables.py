"""Accuracy on exactly balanced classes, should their mix explain a change.

Recht et al. (2019), arXiv 1902.10811, appendix B.2.9.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.analyses.schemas import BALANCED
from matcheval.predictions.correctness import Correctness
from matcheval.statistics.accuracies import accuracy_columns


def balanced_rows(labels: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.int64]:
    """Draw as many datapoints of each class that occurs as the rarest has, without replacement.

    Parameters
    ----------
    labels : int64 array, shape (n,)
    seed : int

    Returns
    -------
    int64 array
        Rows, ascending.
    """
    classes, counts = np.unique(labels, return_counts=True)
    rng = np.random.default_rng(seed)
    per_class = int(counts.min())
    chosen = [rng.choice(np.flatnonzero(labels == c), per_class, replace=False) for c in classes]
    return np.sort(np.concatenate(chosen))


def balanced_accuracies(
    known: Correctness, dataset: str, seed: int = 0, confidence: float = 0.95
) -> pd.DataFrame:
    """Tabulate accuracies on a balanced subset, and averaged over classes.

    Returns
    -------
    pandas.DataFrame
        Columns of `schemas.BALANCED`, in the order of the models.
    """
    rows = balanced_rows(known.labels, seed)
    classes, inverse, counts = np.unique(known.labels, return_inverse=True, return_counts=True)
    table = []
    for model, right in zip(known.models, known.right, strict=True):
        by_class = np.bincount(inverse, weights=right, minlength=len(classes)) / counts
        table.append(
            {
                "model": model,
                "dataset": dataset,
                **accuracy_columns("all", right, confidence),
                **accuracy_columns("balanced", right[rows], confidence),
                "accuracy_by_class": float(by_class.mean()),
                "per_class": len(rows) // len(classes),
                "seed": seed,
                "confidence": confidence,
            }
        )
    return pd.DataFrame(table, columns=BALANCED.names)
