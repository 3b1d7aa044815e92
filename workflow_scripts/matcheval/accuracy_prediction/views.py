"""Parts of a set that scores are computed on besides the whole: fewer datapoints, fewer classes.

P2, Figures 4A and 3C.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal
from zlib import crc32

import numpy as np

from matcheval.accuracy_prediction.outputs.model_outputs import Outputs

WHOLE = "all"
_SIZE = "n="


@dataclass(frozen=True)
class Views:
    """Which parts."""

    sizes: tuple[int, ...] = ()
    draws: int = 5
    missing_classes: Literal["none", "singles", "pairs"] = "none"
    whole_accuracy: bool = False

    def accuracy(self, view: str, whole: float, part: float) -> float:
        """Return the true accuracy on a part."""
        return whole if self.whole_accuracy and view.startswith(_SIZE) else part

    def of(
        self, target: Outputs, name: str, classes: Sequence[str]
    ) -> Iterator[tuple[str, int, Outputs]]:
        """Yield the parts of a set, without the whole."""
        for size in self.sizes:
            for draw in range(self.draws if size < len(target) else 0):
                rng = np.random.default_rng([draw, size, crc32(name.encode())])
                yield f"{_SIZE}{size}", draw, target.rows(rng.permutation(len(target))[:size])
        if self.missing_classes == "none" or target.labels is None:
            return
        labels = target.labels.reshape(len(target), -1)  # of some datapoints perhaps several
        present = np.unique(labels)
        for count in (1, 2) if self.missing_classes == "pairs" else (1,):
            for chosen in combinations(range(len(classes)), count):
                kept = np.asarray(~np.isin(labels, chosen).any(axis=1))
                if np.isin(chosen, present).all() and kept.any():
                    missing = "+".join(classes[label] for label in chosen)
                    yield f"without {missing}", 0, target.rows(kept)
