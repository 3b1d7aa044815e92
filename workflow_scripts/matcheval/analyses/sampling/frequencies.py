"""Selection frequencies: the fraction of the workers who said that an image shows a class."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.analyses.sampling.schemas import FREQUENCIES
from matcheval.errors import ErrorCollector, InputError

Counts = npt.NDArray[np.int64]


def selection_frequencies(annotations: pd.DataFrame) -> pd.DataFrame:
    """Count annotations and selections by image and class."""
    groups = annotations.groupby(["origin", "class", "image"], sort=True)["selected"]
    table = groups.agg(n_annotations="size", n_selected="sum").reset_index()
    table["frequency"] = table["n_selected"] / table["n_annotations"]
    return table.astype({"n_annotations": np.int32, "n_selected": np.int32})[FREQUENCIES.names]


def frequency_bins(
    n_selected: npt.ArrayLike, n_annotations: npt.ArrayLike, bins: int = 5
) -> Counts:
    """Assign selection frequencies to bins of equal width."""
    selected, annotations = np.asarray(n_selected, np.int64), np.asarray(n_annotations, np.int64)
    inside = bins * selected // np.maximum(annotations, 1)
    return np.minimum(inside, bins - 1)


def class_histograms(
    frequencies: pd.DataFrame,
    class_of: Mapping[str, str],
    classes: Sequence[str],
    *,
    bins: int = 5,
    min_annotations: int = 10,
    min_images: int = 20,
) -> Counts:
    """Compute the histogram of the original set's selection frequencies for each class."""
    own = frequencies[frequencies["origin"] == "original"]
    own = own[
        (own["image"].map(class_of) == own["class"]) & (own["n_annotations"] >= min_annotations)
    ]
    own = own[own["class"].isin(classes)]
    position = {name: i for i, name in enumerate(classes)}
    counts = np.zeros((len(classes), bins), np.int64)
    rows = own["class"].map(position).to_numpy(np.int64)
    np.add.at(counts, (rows, frequency_bins(own["n_selected"], own["n_annotations"], bins)), 1)
    problems = ErrorCollector()
    for name, n in zip(classes, counts.sum(axis=1), strict=True):
        with problems.collected():
            if n < min_images:
                raise InputError(
                    f"{n} images of the original set have {min_annotations} or more annotations, "
                    f"{min_images - n} too few for a histogram",
                    file=f"class '{name}'",
                )
    problems.raise_any()
    return counts


def control_accuracy(
    frequencies: pd.DataFrame, class_of: Mapping[str, str]
) -> tuple[float, float]:  # fmt: skip
    """Compute how often workers annotated control images correctly."""
    controls = frequencies[frequencies["origin"] == "original"]
    is_positive = controls["image"].map(class_of) == controls["class"]
    shares = []
    for chosen in (controls[is_positive], controls[~is_positive]):
        n = chosen["n_annotations"].sum()
        shares.append(float(chosen["n_selected"].sum() / n) if n else float("nan"))
    positive, selected_negative = shares
    return positive, 1 - selected_negative
