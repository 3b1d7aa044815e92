"""Kind `digits`: 1,797 scans of handwritten digits that come with scikit-learn.

They are the test set of UCI's "Optical Recognition of Handwritten Digits" (Alpaydin & Kaynak
1998): 8 × 8 counts of ink from 0 to 16, by 13 people, one after the other. The first 1,300 rows
are the known writers; a seeded random split of them gives the training, validation and test
sets. The last 497 rows are the new writers: the same digits, gathered and scanned in the same
way, by hands that no model has seen - similar, not identical. (The writer at the border wrote
rows 1,287 to 1,414, judging by the label sequence each began with, and so is known by 13 rows.)
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.label_spaces import DIGITS
from matcheval.datasets.sources import Sources
from matcheval.errors import InputError

N_ROWS, N_KNOWN_WRITERS, N_TRAIN, N_VALIDATION = 1797, 1300, 600, 100
# Fixed for good: every published number of the digits study depends on it.
SPLIT_SEED = 20220904
PARTS = ("train", "validation", "known", "new-writers")


def rows_of(part: str) -> npt.NDArray[np.int64]:
    """Rows of scikit-learn's `load_digits()` that make up a part, ascending.

    Parameters
    ----------
    part : str
        One of `PARTS`: 600, 100, 600 and 497 rows.

    Returns
    -------
    int64 array, shape (n,)
    """
    shuffled = np.random.default_rng(SPLIT_SEED).permutation(N_KNOWN_WRITERS)
    train_end, validation_end = N_TRAIN, N_TRAIN + N_VALIDATION
    rows = {
        "train": shuffled[:train_end],
        "validation": shuffled[train_end:validation_end],
        "known": shuffled[validation_end:],
        "new-writers": np.arange(N_KNOWN_WRITERS, N_ROWS),
    }
    return np.sort(rows[part])


def build_digits(name: str, options: Mapping[str, Any], sources: Sources | None = None) -> Dataset:
    """Build one part of the digits.

    Parameters
    ----------
    name : str
        The dataset's name.
    options : mapping
        `part`, one of `PARTS`, and nothing else.
    sources : Sources, optional
        Not used: the digits come with scikit-learn.

    Returns
    -------
    Dataset
        Images of 8 × 8 × 1 pixels in 0..16, in the order of the original rows.

    Raises
    ------
    InputError
        If the options are not as said above.
    """
    if set(options) != {"part"} or options["part"] not in PARTS:
        raise InputError(
            f"options {dict(options)} do not name a part",
            file=name,
            field="part",
            remedy=f"Give 'part' and nothing else; known: {', '.join(PARTS)}",
        )
    from sklearn.datasets import load_digits  # takes two seconds, and no other kind needs it

    part = str(options["part"])
    rows = rows_of(part)
    digits = load_digits()
    return make_dataset(
        name,
        digits.images[rows].astype(np.uint8)[..., np.newaxis],
        digits.target[rows],
        classes=DIGITS,
        max_value=16,
        names=[f"digits/{row:04d}" for row in rows],
        source=f"part '{part}' of scikit-learn's load_digits() (UCI optdigits, test set), "
        f"split with seed {SPLIT_SEED}",
    )
