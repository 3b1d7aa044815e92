"""True and predicted classes of prediction files that may lack probabilities."""

from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.predictions.files import values_of
from matcheval.predictions.formats import RawFile
from matcheval.predictions.layout import Layout
from matcheval.predictions.matrices import find_matrix

_MAX_SHOWN = 20  # columns in a message


def ranked_classes(raw: RawFile, layout: Layout, top: int) -> npt.NDArray[Any]:
    """Return the predicted classes of a file or table that may lack probabilities.

    Parameters
    ----------
    raw : RawFile
    layout : Layout
    top : int
        How many classes are wanted.

    Returns
    -------
    array, shape (n,) or (n, k)
        Most probable first: `prediction`, or if it is missing or more classes are wanted, those
        with the highest scores; of equal scores, the lower class. Not checked further.

    Raises
    ------
    InputError
        If there are neither, or they are not valid.
    """
    given = values_of(raw, "prediction", layout) if "prediction" in raw.columns else None
    if given is not None and (top == 1 or given.ndim > 1):
        return given
    matrix = find_matrix(raw.columns, layout, raw.file)
    if matrix is None:
        if given is not None:
            return given
        raise InputError(
            f"predicted classes missing; found {', '.join(raw.names[:_MAX_SHOWN]) or 'none'}",
            file=raw.file,
            remedy="Give 'prediction', or the scores of all classes",
        )
    return np.argsort(-matrix.values, axis=1, kind="stable")[:, :top]


def labels_of(raw: RawFile, layout: Layout) -> npt.NDArray[Any]:
    """Return the true classes of a file or table, not checked further.

    Parameters
    ----------
    raw : RawFile
    layout : Layout

    Raises
    ------
    InputError
        If there are none.
    """
    if "label" not in raw.columns:
        raise InputError(
            f"column label missing; found {', '.join(raw.names[:_MAX_SHOWN]) or 'none'}",
            file=raw.file,
            remedy="If it has another name, say which: columns={'label': 'target'}",
        )
    return values_of(raw, "label", layout)
