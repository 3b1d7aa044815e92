"""The results of a forward pass, batch by batch, and the interface of what writes them."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class ForwardBatch:
    """A model's results for consecutive datapoints.

    To pass on further results, add a field here and fill it in `forward._Pass.results`.

    Attributes
    ----------
    start : int
        Index of the first datapoint.
    labels : int16 array, shape (n,)
        True classes.
    logits : float32 array, shape (n, n_classes)
        Finite scores.
    features : float32 array, shape (n, n_features), or None
        Input of the last layer; None unless a writer needs it.
    """

    start: int
    labels: npt.NDArray[np.int16]
    logits: npt.NDArray[np.float32]
    features: npt.NDArray[np.float32] | None = None


class Writer(Protocol):
    """Writes one output of a forward pass."""

    needs_features: bool

    def update(self, batch: ForwardBatch) -> None:
        """Process the next batch; batches arrive in dataset order, each once."""

    def finish(self) -> None:
        """Write the file; called once, after the last batch."""

    def discard(self) -> None:
        """Remove what has been written so far; called instead of `finish` if the pass fails."""
