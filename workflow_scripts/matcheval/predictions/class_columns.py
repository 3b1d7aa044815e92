"""True and predicted classes of prediction files that may lack probabilities."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.predictions.files import values_of
from matcheval.predictions.formats import RawFile
from matcheval.predictions.layout import Layout
from matcheval.predictions.matrices import find_matrix

_MAX_SHOWN = 20  # columns in a message


@dataclass(frozen=True, eq=False)
class RankedClasses:
    """Predicted classes, most probable first."""

    classes: npt.NDArray[Any]
    n_classes: int | None


def ranked_classes(raw: RawFile, layout: Layout, top: int) -> RankedClasses:
    """Return the predicted classes of a file or table that may lack probabilities."""
    given = values_of(raw, "prediction", layout) if "prediction" in raw.columns else None
    if given is not None and (top == 1 or given.ndim > 1):
        return RankedClasses(given, None)
    matrix = find_matrix(raw.columns, layout, raw.file)
    if matrix is None:
        if given is not None:
            return RankedClasses(given, None)
        raise InputError(
            f"predicted classes missing; found {', '.join(raw.names[:_MAX_SHOWN]) or 'none'}",
            file=raw.file,
            remedy="Give 'prediction', or the scores of all classes",
        )
    ranked = np.argsort(-matrix.values, axis=1, kind="stable")[:, :top]
    return RankedClasses(ranked, matrix.values.shape[1])


def labels_of(raw: RawFile, layout: Layout) -> npt.NDArray[Any]:
    """Return the true classes of a file or table, not checked further."""
    if "label" not in raw.columns:
        raise InputError(
            f"column label missing; found {', '.join(raw.names[:_MAX_SHOWN]) or 'none'}",
            file=raw.file,
            remedy="If it has another name, say which: columns={'label': 'target'}",
        )
    return values_of(raw, "label", layout)
