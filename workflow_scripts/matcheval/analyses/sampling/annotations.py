"""Workers' annotations: whether a worker, shown an image for a class, selected it."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv

from matcheval.analyses.sampling.settings import ANNOTATIONS, FREQUENCIES
from matcheval.errors import ErrorCollector, InputError
from matcheval.io.tables import read_parquet

ORIGINS = ("pool", "original")
_KEY = ["task", "worker", "origin", "image", "class"]
_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_MOST_NAMED = 3  # unknown names listed in a message


def read_annotations(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table of annotations."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".parquet", ".csv"):
        raise InputError(
            f"'{suffix}' is not a supported table format", file=path, remedy="Use .parquet or .csv"
        )
    frame = _read_csv(path) if suffix == ".csv" else read_parquet(path).to_pandas()
    for column, value in (("origin", "pool"), ("task", "")):
        if column not in frame:
            frame[column] = value
    wrong = set(ANNOTATIONS.names) ^ set(frame.columns)
    if wrong:
        raise InputError(
            f"columns {sorted(wrong)} are missing or unknown",
            file=path,
            remedy=f"The columns must be {', '.join(ANNOTATIONS.names)}",
        )
    frame = frame[ANNOTATIONS.names]
    empty = [name for name in ("worker", "image", "class") if (frame[name].fillna("") == "").any()]
    if empty:
        raise InputError(f"empty cells in {', '.join(empty)}", file=path)
    selected = frame["selected"].astype(str).str.lower().map(_TRUTH)
    if selected.isna().any():
        row = int(selected.isna().to_numpy().argmax())
        raise InputError(
            f"row {row} (from 0): '{frame['selected'].iloc[row]}' is neither true nor false",
            file=path,
            field="selected",
        )
    texts = {name: frame[name].astype(str) for name in ANNOTATIONS.names[:-1]}
    return pd.DataFrame(texts | {"selected": selected.astype(bool)})


def check_annotations(
    annotations: pd.DataFrame,
    images: Mapping[str, Collection[str]],
    classes: Collection[str],
    *,
    repeated: str = "refuse",
    file: object = None,
) -> tuple[pd.DataFrame, int]:
    """Check annotations against the known images and classes."""
    refuse_unknown(annotations["origin"], ORIGINS, "origin", file=file)
    for origin in ORIGINS:
        of_origin = annotations.loc[annotations["origin"] == origin, "image"]
        refuse_unknown(of_origin, images[origin], "image", of=f" of the {origin}", file=file)
    refuse_unknown(annotations["class"], classes, "class", file=file)
    twice = annotations.duplicated(_KEY)
    if twice.any() and repeated == "refuse":
        row = annotations[twice].iloc[0]
        raise InputError(
            f"repeated annotations ({int(twice.sum())} in all): worker '{row['worker']}' annotated "
            f"image '{row['image']}' for class '{row['class']}' more than once"
            + (f" in task '{row['task']}'" if row["task"] else ""),
            file=file,
            field="worker",
            remedy="Correct the table, or count only first annotations with 'repeated: first'",
        )
    return annotations[~twice], int(twice.sum())


def refuse_unknown(
    values: Iterable[str],
    known: Collection[str],
    what: str,
    *,
    of: str = "",
    file: object = None,
    field: object = None,
) -> None:
    """Refuse names that are not known, and name some of them."""
    unknown = sorted(set(values) - set(known))
    if unknown:
        named = ", ".join(f"'{name}'" for name in unknown[:_MOST_NAMED])
        more = ", ..." if len(unknown) > _MOST_NAMED else ""
        plural = what if len(unknown) == 1 else {"class": "classes"}.get(what, f"{what}s")
        raise InputError(
            f"{len(unknown)} unknown {plural}{of}: {named}{more}", file=file, field=field or what
        )


def _read_csv(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a CSV file with all cells as text, so that names like 0012 keep their zeros."""
    try:
        with Path(path).open(encoding="utf-8-sig") as stream:
            names = stream.readline().rstrip("\r\n").split(",")
        types = {name.strip('"'): pa.string() for name in names}
        options = pa_csv.ConvertOptions(column_types=types, strings_can_be_null=False)
        frame: pd.DataFrame = pa_csv.read_csv(path, convert_options=options).to_pandas()
    except FileNotFoundError as error:
        raise InputError("no such file", file=path) from error
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"not readable as CSV ({reason})", file=path) from error
    return frame


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
    own = frequencies[
        (frequencies["origin"] == "original")
        & (frequencies["image"].map(class_of) == frequencies["class"])
        & (frequencies["n_annotations"] >= min_annotations)
        & frequencies["class"].isin(classes)
    ]
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


ASSIGNMENTS = 10  # workers per task
CANDIDATES, CONTROLS = 42, 3  # per task: candidates; positive controls, and as many negative ones

Floats = npt.NDArray[np.float64]
_STEEPNESS = 3.0  # slope of the logistic: workers agree on most images, and disagree on some


def lay_out_tasks(
    pool: Mapping[str, Sequence[str]],
    original: Mapping[str, Sequence[str]],
    rng: np.random.Generator,
    *,
    positive_rounds: int = 1,
) -> pd.DataFrame:
    """Divide candidates among tasks, with images of the original set as controls."""
    if set(pool) != set(original):
        raise InputError(
            f"classes {sorted(set(pool) ^ set(original))} are in only one of pool and original set",
            remedy="Both sets must have the same classes",
        )
    empty = [name for name, images in original.items() if not images]
    if empty:
        raise InputError(f"the original set has no images of class '{empty[0]}' to use as controls")
    names = list(pool)
    rows: list[tuple[str, str, str, str]] = []
    for position, name in enumerate(names):
        others = original[names[(position + 1) % len(names)]]
        candidates = [pool[name][i] for i in rng.permutation(len(pool[name]))]
        shown = _control_groups(original[name], rng, positive_rounds)
        for number in range(max(-(-len(candidates) // CANDIDATES), len(shown))):
            task = f"{name}-{number:05d}"
            of_pool = candidates[number * CANDIDATES : (number + 1) * CANDIDATES]
            negative = rng.choice(len(others), min(CONTROLS, len(others)), replace=False)
            rows += [(task, "pool", image, name) for image in of_pool]
            rows += [(task, "original", image, name) for image in shown[number % len(shown)]]
            if len(names) > 1:
                rows += [(task, "original", others[i], name) for i in negative]
    return pd.DataFrame(rows, columns=["task", "origin", "image", "class"])


def simulate_annotations(
    shown: pd.DataFrame,
    probability: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    assignments: int = ASSIGNMENTS,
    workers: int = 200,
) -> pd.DataFrame:
    """Simulate the annotation of tasks by workers."""
    chance = np.asarray(probability, np.float64)
    if chance.shape != (len(shown),) or not ((chance >= 0) & (chance <= 1)).all():
        raise InputError("give one number in [0, 1] for every image shown", field="probability")
    if not 1 <= assignments <= workers:
        raise InputError(
            f"cannot assign each task to {assignments} of {workers} workers", field="assignments"
        )
    tasks, inverse = np.unique(shown["task"].to_numpy(str), return_inverse=True)
    # A random first worker and those that follow: all different, and with an even workload.
    first = rng.integers(0, workers, len(tasks))[inverse]
    worker = (first[:, None] + np.arange(assignments)) % workers
    selected = rng.random((len(shown), assignments)) < chance[:, None]
    repeated = {
        name: np.repeat(shown[name].to_numpy(object), assignments)
        for name in ("task", "origin", "image", "class")
    }
    names = np.array([f"worker-{i:04d}" for i in range(workers)], dtype=object)
    annotations = pd.DataFrame(
        repeated | {"worker": names[worker.ravel()], "selected": selected.ravel()}
    )
    return annotations[ANNOTATIONS.names]


def likeness_probabilities(
    images: npt.NDArray[Any], classes: npt.NDArray[np.int64], centres: Floats
) -> Floats:  # fmt: skip
    """Compute the probability that a simulated worker selects an image, from its pixels."""
    flat = images.reshape(len(images), -1).astype(np.float64)
    distance = np.sqrt(((flat[:, None, :] - centres[None]) ** 2).sum(axis=2))
    own = np.take_along_axis(distance, classes[:, None], axis=1)[:, 0]
    others = distance.copy()
    np.put_along_axis(others, classes[:, None], np.inf, axis=1)
    margin = (others.min(axis=1) - own) / distance.mean(axis=1)
    scale = np.median(np.abs(margin)) or 1.0
    result: Floats = 1 / (1 + np.exp(-_STEEPNESS * margin / scale))
    return result


def class_centres(
    images: npt.NDArray[Any], labels: npt.NDArray[np.int16], n_classes: int
) -> Floats:  # fmt: skip
    """Compute the mean image of every class, shape (n_classes, d); NaN for one without images."""
    flat = images.reshape(len(images), -1).astype(np.float64)
    sums = np.zeros((n_classes, flat.shape[1]))
    np.add.at(sums, labels.astype(np.int64), flat)
    with np.errstate(invalid="ignore"):
        centres: Floats = sums / np.bincount(labels, minlength=n_classes)[:, None]
    return centres


def _control_groups(
    images: Sequence[str], rng: np.random.Generator, rounds: int
) -> list[list[str]]:  # fmt: skip
    """Split the images of a class into groups, one per task; each round has every image once."""
    shuffled = ([images[i] for i in rng.permutation(len(images))] for _ in range(rounds))
    return [of[i : i + CONTROLS] for of in shuffled for i in range(0, len(of), CONTROLS)]
