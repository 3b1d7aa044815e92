"""What near duplicates of the training set do to an accuracy.

Recht et al. (2019), arXiv 1902.10811, appendix B.2.2: about 8 % of the CIFAR-10 test images have a
near duplicate in the training set. Even if a model has them all right, that explains little.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.analyses.near_duplicates.schemas import DUPLICATE_ACCURACIES
from matcheval.errors import InputError
from matcheval.io.text_tables import TextColumn, accuracy_cells, signed_cells
from matcheval.statistics.accuracies import accuracy_columns


def accuracy_without_duplicates(
    accuracy: npt.ArrayLike, share: float, accuracy_on_duplicates: npt.ArrayLike = 1.0
) -> npt.NDArray[np.float64]:
    """Accuracy on the images that are no near duplicates, from that on all.

    Parameters
    ----------
    accuracy : array-like
        On all images, in [0, 1].
    share : float
        Part of the images that are near duplicates, in [0, 1).
    accuracy_on_duplicates : array-like
        In [0, 1]; 1 gives the lowest accuracy that the others can have.

    Raises
    ------
    InputError
        If a number is out of range, or no accuracy of the others gives that on all.
    """
    overall, inside = np.broadcast_arrays(
        np.asarray(accuracy, np.float64), np.asarray(accuracy_on_duplicates, np.float64)
    )
    if not 0 <= share < 1:
        raise InputError(f"{share} is not in [0, 1)", field="share")
    if not all(((values >= 0) & (values <= 1)).all() for values in (overall, inside)):
        raise InputError("accuracies are in [0, 1]", field="accuracy")
    rest = (overall - share * inside) / (1 - share)
    if ((rest < -1e-12) | (rest > 1 + 1e-12)).any():
        raise InputError(
            f"a share of {share} with this accuracy alone is more, or leaves more, than there is",
            field="share",
        )
    return np.clip(rest, 0.0, 1.0)


def duplicate_accuracies(
    correct: Mapping[str, npt.NDArray[np.bool_]],
    flagged: Sequence[int],
    dataset: str,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Accuracies on the test images that are near duplicates, and on the others.

    Parameters
    ----------
    correct : mapping
        By model, whether each image of the test set was predicted right.
    flagged : sequence of int
        Positions of the near duplicates.
    dataset : str
        Name of the test set.
    confidence : float
        Level of the Clopper-Pearson intervals.

    Returns
    -------
    pandas.DataFrame
        Columns of `schemas.DUPLICATE_ACCURACIES`, in the order of the models.

    Raises
    ------
    InputError
        If a position is there twice or not in the set.
    """
    rows = []
    positions = np.asarray(list(flagged), np.int64)
    for model, is_right in correct.items():
        outside = positions[(positions < 0) | (positions >= len(is_right))]
        if len(outside) or len(set(positions.tolist())) < len(positions):
            what = f"{outside[0]} is not in 0..{len(is_right) - 1}" if len(outside) else "repeated"
            raise InputError(f"near duplicates: {what}", file=dataset, field="index")
        is_duplicate = np.zeros(len(is_right), bool)
        is_duplicate[positions] = True
        parts = {"all": is_right, "duplicates": is_right[is_duplicate]}
        parts["rest"] = is_right[~is_duplicate]
        row: dict[str, Any] = {"model": model, "dataset": dataset, "confidence": confidence}
        for part, values in parts.items():
            row |= accuracy_columns(part, values, confidence)
        row["change"] = row["accuracy_rest"] - row["accuracy_all"]
        rows.append(row)
    return pd.DataFrame(rows, columns=DUPLICATE_ACCURACIES.names)


def duplicates_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of `neighbours.schemas.DUPLICATE_ACCURACIES`."""
    level = f"{100 * table['confidence'].iloc[0]:g} % CI"
    n = {part: int(table[f"n_{part}"].iloc[0]) for part in ("all", "duplicates", "rest")}
    return [
        TextColumn("Model", table["model"].tolist(), is_number=False),
        TextColumn(f"All {n['all']:,} (%) [{level}]", accuracy_cells(table, "all")),
        TextColumn(f"{n['duplicates']:,} duplicates (%)", accuracy_cells(table, "duplicates")),
        TextColumn(f"Other {n['rest']:,} (%)", accuracy_cells(table, "rest")),
        TextColumn("Change", signed_cells(table["change"].tolist(), 2)),
    ]
