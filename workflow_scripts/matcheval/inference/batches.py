"""What the forward pass gives, and who takes it."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class ForwardBatch:
    """What a model says of consecutive datapoints.

    A further output of the pass is a further field, filled by `forward._Pass.results`.

    Attributes
    ----------
    start : int
        Index of the first datapoint.
    labels : int16 array, shape (n,)
        True classes.
    logits : float32 array, shape (n, n_classes)
        Finite scores.
    features : float32 array, shape (n, n_features), or None
        What the last layer is given; None unless a sink needs it.
    """

    start: int
    labels: npt.NDArray[np.int16]
    logits: npt.NDArray[np.float32]
    features: npt.NDArray[np.float32] | None = None


class Sink(Protocol):
    """Something that keeps a part of a forward pass."""

    needs_features: bool

    def update(self, batch: ForwardBatch) -> None:
        """Take the next batch; batches come in dataset order, each once."""

    def finish(self) -> None:
        """Write the file; called once, after the last batch."""

    def discard(self) -> None:
        """Remove what was written so far; called instead of `finish`, if the pass fails."""
