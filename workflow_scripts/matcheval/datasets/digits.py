"""Kind `digits`: 1,797 scans of handwritten digits that are included in scikit-learn.

They are the test set of UCI's "Optical Recognition of Handwritten Digits" (Alpaydin & Kaynak
1998): 8 × 8 counts of ink from 0 to 16, by 13 writers, one after the other. The first 1,300 rows
are the known writers, who are split at random, with a fixed seed, into the training, validation
and test set. The last 497 rows are the new writers: the same digits, collected and scanned in the
same way, by writers of whom no model has seen a digit; similar, but not identical.

The labels show that all copied the same 130 digits, a few of which are missing here. There are
fourteen such sheets: two are by one writer, or there were more writers. Sheets begin at rows 0,
130, 256, 386, 516, 646, 776, 906, 1029, 1157, 1287, 1415, 1545 and 1667, so that 13 digits of the
eleventh are among the known writers'.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.kind import PixelFormat, Subset, dataset_kind
from matcheval.datasets.label_spaces import DIGITS
from matcheval.datasets.sources import Sources

N_ROWS, N_KNOWN_WRITERS, N_TRAIN, N_VALIDATION = 1797, 1300, 600, 100
# Never to be changed: every published number of the digits study depends on it.
SPLIT_SEED = 20220904


def rows_of(part: str) -> npt.NDArray[np.int64]:
    """Return the rows of scikit-learn's `load_digits()` that form a part, ascending."""
    shuffled = np.random.default_rng(SPLIT_SEED).permutation(N_KNOWN_WRITERS)
    train_end, validation_end = N_TRAIN, N_TRAIN + N_VALIDATION
    rows = {
        "train": shuffled[:train_end],
        "validation": shuffled[train_end:validation_end],
        "known": shuffled[validation_end:],
        "new-writers": np.arange(N_KNOWN_WRITERS, N_ROWS),
    }
    return np.sort(rows[part])


@dataset_kind
class Digits(Subset):
    """Scikit-learn's handwritten digits."""

    kind: Literal["digits"]
    part: Literal["train", "validation", "known", "new-writers"] = Field(
        description="Three parts are of the same writers, new-writers are of others"
    )
    builder_version: ClassVar[int] = 2
    label_space: ClassVar[tuple[str, ...] | None] = DIGITS

    @property
    def pixel_format(self) -> PixelFormat:
        """8 × 8 pixels, one channel, values from 0 to 16."""
        return PixelFormat(8, 1, 16)

    def build(self, name: str, sources: Sources) -> Dataset:
        """Build one part of the digits."""
        from sklearn.datasets import load_digits  # takes two seconds, and only this kind needs it

        rows, digits = rows_of(self.part), load_digits()
        return make_dataset(
            name,
            digits.images[rows].astype(np.uint8)[..., np.newaxis],
            digits.target[rows],
            classes=DIGITS,
            max_value=16,
            names=[f"digits/{row:04d}" for row in rows],
            source=f"part '{self.part}' of scikit-learn's load_digits() (UCI optdigits, test set), "
            f"split with seed {SPLIT_SEED}",
        )


# Rows of scikit-learn's digits at which a sheet begins (see above). Fourteen sheets are by
# thirteen writers: who wrote two of them is not known, so that a sheet is taken for a writer.
_SHEETS = (0, 130, 256, 386, 516, 646, 776, 906, 1029, 1157, 1287, 1415, 1545, 1667)


def writers(names: Sequence[str]) -> list[str]:
    """Return the sheets of handwritten digits."""
    return [f"sheet {bisect_right(_SHEETS, int(name.split('/')[1]))}" for name in names]


# By kind of dataset.
KNOWN_GROUPS: Mapping[str, Callable[[Sequence[str]], list[str]]] = {"digits": writers}
