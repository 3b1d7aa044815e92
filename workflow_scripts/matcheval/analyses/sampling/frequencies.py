"""Selection frequencies: what part of the workers said that an image shows a class."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.analyses.sampling.schemas import FREQUENCIES
from matcheval.errors import InputError, Problems

Counts = npt.NDArray[np.int64]


def selection_frequencies(answers: pd.DataFrame) -> pd.DataFrame:
    """Count answers and selections of every image and class.

    Answers of all tasks in which an image was shown with a class are pooled: every answer weighs
    the same. An image shown with another class than its own (a negative control) counts under
    that class.

    Parameters
    ----------
    answers : pandas.DataFrame
        Columns of `schemas.ANSWERS`.

    Returns
    -------
    pandas.DataFrame
        Columns of `schemas.FREQUENCIES`, by origin, class and image.
    """
    groups = answers.groupby(["origin", "class", "image"], sort=True)["selected"]
    table = groups.agg(n_answers="size", n_selected="sum").reset_index()
    table["frequency"] = table["n_selected"] / table["n_answers"]
    return table.astype({"n_answers": np.int32, "n_selected": np.int32})[FREQUENCIES.names]


def frequency_bins(n_selected: npt.ArrayLike, n_answers: npt.ArrayLike, bins: int = 5) -> Counts:
    """Bin of each frequency: equal widths, closed below, the last one closed above too.

    Counts are compared as whole numbers, so that 3 of 5 is in [0.6, 0.8) although 0.6 is no
    binary fraction. Without answers the frequency is 0.
    """
    selected, answers = np.asarray(n_selected, np.int64), np.asarray(n_answers, np.int64)
    inside = bins * selected // np.maximum(answers, 1)
    return np.minimum(inside, bins - 1)


def class_histograms(
    frequencies: pd.DataFrame,
    class_of: Mapping[str, str],
    classes: Sequence[str],
    *,
    bins: int = 5,
    min_answers: int = 10,
    min_images: int = 20,
) -> Counts:
    """Histogram, per class, of the selection frequencies of the original set's images.

    Parameters
    ----------
    frequencies : pandas.DataFrame
        Columns of `schemas.FREQUENCIES`; rows of the original set count under their own class.
    class_of : mapping
        The class of every image of the original set.
    classes : sequence of str
        In the order of the result.
    bins, min_answers, min_images : int
        Number of bins; answers that an image must have to count; images that a class must have.

    Returns
    -------
    int64 array, shape (n_classes, bins)

    Raises
    ------
    InputError
        Naming every class with too few images, and how many are missing.
    """
    own = frequencies[frequencies["origin"] == "original"]
    own = own[(own["image"].map(class_of) == own["class"]) & (own["n_answers"] >= min_answers)]
    own = own[own["class"].isin(classes)]
    position = {name: i for i, name in enumerate(classes)}
    counts = np.zeros((len(classes), bins), np.int64)
    rows = own["class"].map(position).to_numpy(np.int64)
    np.add.at(counts, (rows, frequency_bins(own["n_selected"], own["n_answers"], bins)), 1)
    problems = Problems()
    for name, n in zip(classes, counts.sum(axis=1), strict=True):
        with problems.gathered():
            if n < min_images:
                raise InputError(
                    f"{n} images of the original set have {min_answers} answers or more, "
                    f"{min_images - n} too few for its histogram",
                    file=f"class '{name}'",
                )
    problems.raise_any()
    return counts


def control_accuracy(
    frequencies: pd.DataFrame, class_of: Mapping[str, str]
) -> tuple[float, float]:  # fmt: skip
    """Share of the answers to controls that were right: to positive, and to negative ones.

    Controls are images of the original set, shown with their own class (to be selected) or with
    another one (not to be). Reported only: no worker is left out for it. NaN without controls.
    """
    controls = frequencies[frequencies["origin"] == "original"]
    is_positive = controls["image"].map(class_of) == controls["class"]
    shares = []
    for chosen in (controls[is_positive], controls[~is_positive]):
        n = chosen["n_answers"].sum()
        shares.append(float(chosen["n_selected"].sum() / n) if n else float("nan"))
    positive, selected_negative = shares
    return positive, 1 - selected_negative
