"""Workers' annotations: whether a worker, shown an image for a class, selected it."""

import logging
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv

from matcheval.analyses.sampling import settings as schemas
from matcheval.analyses.sampling.image_search import with_pixel_array
from matcheval.datasets.dataset import Dataset
from matcheval.datasets.folders import read_dataset
from matcheval.errors import InputError, listed
from matcheval.io.delimited_text import unescape_formulas
from matcheval.io.files import check_format, readable
from matcheval.io.tables import read_parquet, write_table
from matcheval.settings import read_settings

LOGGER = logging.getLogger(__name__)
ORIGINS = ("pool", "original")
_KEY = ["task", "worker", "origin", "image", "class"]
_TRUTH = {"true": True, "false": False, "1": True, "0": False}

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def count(
    *, candidates: Path, original: Path, annotations: Path, file: Path, repeated: str = "refuse"
) -> Mapping[str, Any]:
    """Count workers' annotations, and write the selection frequencies.

    Parameters
    ----------
    candidates : path-like, a folder
        The pool: folder of a dataset.
    original : path-like, a folder
        Folder of the set that is replicated.
    annotations : path-like
        Workers' annotations (.parquet, .csv).
    file : path-like
        Selection frequencies to write (.parquet, as `sample` reads them, or .csv).
    repeated : {"refuse", "first"}
        Refuse repeated annotations by a worker, or count the first.
    """
    pool, base = read_dataset(candidates), read_dataset(original)
    checked, left_out = check_annotations(
        read_annotations(annotations), {"pool": pool.names, "original": base.names},
        pool.classes, repeated=repeated, file=annotations,
    )  # fmt: skip
    frequencies = selection_frequencies(checked)
    write_table(schemas.FREQUENCIES.from_frame(frequencies), file)
    positive, negative = control_accuracy(frequencies, classes_by_image(base))
    LOGGER.info(
        "%d annotations without %d repeated ones; %.1f %% of the positive controls and %.1f %% "
        "of the negative ones were annotated correctly",
        len(checked), left_out, 100 * positive, 100 * negative,
    )  # fmt: skip
    return {"written": [str(file)]}


def classes_by_image(dataset: Dataset) -> dict[str, str]:
    """Return the name of every image's class, by the name of the image."""
    classes = (dataset.classes[label] for label in dataset.labels)
    return dict(zip(dataset.names, classes, strict=True))


def read_annotations(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read workers' annotations from a Parquet or CSV file, and check its columns and values."""
    names = schemas.ANNOTATIONS.names
    if check_format(path, (".parquet", ".csv"), "{} is not a supported table format") == ".csv":
        as_text = pa_csv.ConvertOptions(  # so that names like 0012 keep their zeros
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        )
        with readable(path, "readable as CSV", pa.ArrowException):
            table = pa_csv.read_csv(path, convert_options=as_text)
        frame = unescape_formulas(table).to_pandas()
    else:
        frame = read_parquet(path).to_pandas()
    for column, value in (("origin", "pool"), ("task", "")):
        if column not in frame:
            frame[column] = value
    if wrong := set(names) ^ set(frame.columns):
        remedy = f"The columns must be {', '.join(names)}"
        problem = f"columns {sorted(wrong)} are missing or unknown"
        raise InputError(problem, file=path, remedy=remedy)
    is_empty = frame[["worker", "image", "class"]].fillna("").eq("").any()
    if is_empty.any():
        raise InputError(f"empty cells in {', '.join(is_empty.index[is_empty])}", file=path)
    selected = frame["selected"].astype(str).str.lower().map(_TRUTH)
    if selected.isna().any():
        row = int(selected.isna().to_numpy().argmax())
        problem = f"row {row} (from 0): '{frame['selected'].iloc[row]}' is neither true nor false"
        raise InputError(problem, file=path, field="selected")
    texts = {name: frame[name].astype(str) for name in names[:-1]}
    return pd.DataFrame(texts | {"selected": selected.astype(bool)})


def check_annotations(
    annotations: pd.DataFrame, images: Mapping[str, Collection[str]], classes: Collection[str], *,
    repeated: str = "refuse", file: object = None,
) -> tuple[pd.DataFrame, int]:  # fmt: skip
    """Refuse unknown names, and repeats; with `repeated="first"`, drop and count the latter."""
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
            file=file, field="worker",
            remedy="Correct the table, or count only first annotations with 'repeated: first'",
        )  # fmt: skip
    return annotations[~twice], int(twice.sum())


def refuse_unknown(
    values: Iterable[str], known: Collection[str], what: str, *, of: str = "", file: object = None,
    field: object = None,
) -> None:  # fmt: skip
    """Raise an error that names some of the values that are not known, if there are any."""
    if unknown := sorted(set(values) - set(known)):
        plural = what if len(unknown) == 1 else {"class": "classes"}.get(what, f"{what}s")
        names = listed((f"'{name}'" for name in unknown), 3)
        problem = f"{len(unknown)} unknown {plural}{of}: {names}"
        raise InputError(problem, file=file, field=field or what)


def selection_frequencies(annotations: pd.DataFrame) -> pd.DataFrame:
    """Tabulate how often each image was annotated for a class, and how often selected."""
    groups = annotations.groupby(["origin", "class", "image"], sort=True)["selected"]
    table = groups.agg(n_annotations="size", n_selected="sum").reset_index()
    table["frequency"] = table["n_selected"] / table["n_annotations"]
    table = table.astype({"n_annotations": np.int32, "n_selected": np.int32})
    return table[schemas.FREQUENCIES.names]


def frequency_bins(
    n_selected: npt.ArrayLike, n_annotations: npt.ArrayLike, bins: int = 5
) -> Counts:
    """Return the number, from 0, of the bin of equal width that each selection frequency is in."""
    selected, annotations = np.asarray(n_selected, np.int64), np.asarray(n_annotations, np.int64)
    return np.minimum(bins * selected // np.maximum(annotations, 1), bins - 1)


MIN_ANNOTATIONS = 10  # of a candidate, and of an original image that counts
_MIN_ORIGINAL = 20  # annotated original images of a class


def class_histograms(
    frequencies: pd.DataFrame,
    image_classes: Mapping[str, str],
    classes: Sequence[str],
    settings: schemas.SamplingSettings,
) -> Counts:
    """Count original images by class and bin of selection frequency, shape (n_classes, bins)."""
    own = frequencies[
        (frequencies["origin"] == "original")
        & (frequencies["image"].map(image_classes) == frequencies["class"])
        & (frequencies["n_annotations"] >= MIN_ANNOTATIONS)
    ]
    bin_numbers = frequency_bins(own["n_selected"], own["n_annotations"], settings.bins)
    table = pd.crosstab(own["class"], bin_numbers)
    table = table.reindex(index=[*classes], columns=range(settings.bins), fill_value=0)
    counts = table.to_numpy(np.int64)
    problems = [
        f"class '{name}': {n} images of the original set have {MIN_ANNOTATIONS} or more "
        f"annotations, {_MIN_ORIGINAL - n} too few for a histogram"
        for name, n in zip(classes, counts.sum(axis=1), strict=True)
        if n < _MIN_ORIGINAL
    ]
    if problems:
        raise InputError("; ".join(problems))
    return counts


def control_accuracy(
    frequencies: pd.DataFrame, image_classes: Mapping[str, str]
) -> tuple[float, float]:
    """Compute the shares of correct annotations of positive and of negative control images."""
    controls = frequencies[frequencies["origin"] == "original"]
    is_positive = controls["image"].map(image_classes) == controls["class"]
    shares = []
    for rows in (controls[is_positive], controls[~is_positive]):
        n = rows["n_annotations"].sum()
        shares.append(float(rows["n_selected"].sum() / n) if n else float("nan"))
    return shares[0], 1 - shares[1]


WORKERS = 200
CANDIDATES, CONTROLS = 42, 3  # per task: candidates; positive controls, and as many negative ones
_STEEPNESS = 3.0  # slope of the logistic: workers agree on most images, and disagree on some


def simulate(
    *, candidates: Path, original: Path, file: Path, seed: int = 0, assignments: int = 10,
    compare_size: int | None = None,
) -> Mapping[str, Any]:  # fmt: skip
    """Simulate workers' annotations, with probabilities that depend on the pixels.

    Parameters
    ----------
    candidates : path-like, a folder
        The pool: folder of a dataset.
    original : path-like, a folder
        Folder of the set that is replicated.
    file : path-like
        Annotations to write (.parquet, .csv).
    seed : int
        Random seed.
    assignments : int
        Workers per task.
    compare_size : int
        Resize images to squares of this side, in pixels, first: needed for image files.
    """
    options = {"seed": seed, "assignments": assignments, "compare_size": compare_size}
    settings = read_settings(schemas.SimulationSettings, options, file="options")
    pool, base = read_dataset(candidates), read_dataset(original)
    rng = np.random.default_rng(settings.seed)
    shown = lay_out_tasks(_images_by_class(pool), _images_by_class(base), rng)
    pixels = [with_pixel_array(dataset, settings.compare_size) for dataset in (pool, base)]
    centres = class_centres(np.asarray(pixels[1].pixels), base.labels, len(base.classes))
    shown_for = np.array([base.classes.index(name) for name in shown["class"]], np.int64)
    probability = np.empty(len(shown))
    for origin, dataset in zip(ORIGINS, pixels, strict=True):
        rows = np.flatnonzero(shown["origin"] == origin)
        position = {name: i for i, name in enumerate(dataset.names)}
        at = [position[image] for image in shown["image"].iloc[rows]]
        probability[rows] = selection_probabilities(dataset.pixels[at], shown_for[rows], centres)
    annotations = simulate_annotations(shown, probability, rng, settings.assignments)
    metadata = {"simulated": "true", "seed": str(settings.seed)}
    columns = {name: annotations[name].to_numpy() for name in schemas.ANNOTATIONS.names}
    write_table(schemas.ANNOTATIONS.table(columns, metadata), file)
    LOGGER.info("simulated %d annotations of %d tasks", len(annotations), shown["task"].nunique())
    return {"written": [str(file)]}


def _images_by_class(dataset: Dataset) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {name: [] for name in dataset.classes}
    for image, name in classes_by_image(dataset).items():
        groups[name].append(image)
    return groups


def lay_out_tasks(
    pool: Mapping[str, Sequence[str]],
    original: Mapping[str, Sequence[str]],
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Divide candidates among tasks, with original images as controls: a row per image shown."""
    if alone := sorted(set(pool) ^ set(original)):
        problem = f"classes {alone} are in only one of pool and original set"
        raise InputError(problem, remedy="Both sets must have the same classes")
    if empty := [name for name, images in original.items() if not images]:
        raise InputError(f"the original set has no images of class '{empty[0]}' to use as controls")
    names = list(pool)
    rows: list[tuple[str, str, str, str]] = []
    for position, name in enumerate(names):
        own, others = original[name], original[names[(position + 1) % len(names)]]
        candidates = [pool[name][i] for i in rng.permutation(len(pool[name]))]
        # Positive controls: every image once.
        shuffled = [own[i] for i in rng.permutation(len(own))]
        positive = [shuffled[i : i + CONTROLS] for i in range(0, len(shuffled), CONTROLS)]
        for number in range(max(-(-len(candidates) // CANDIDATES), len(positive))):
            task = f"{name}-{number:05d}"
            of_pool = candidates[number * CANDIDATES : (number + 1) * CANDIDATES]
            negative = rng.choice(len(others), min(CONTROLS, len(others)), replace=False)
            rows += [(task, "pool", image, name) for image in of_pool]
            rows += [(task, "original", image, name) for image in positive[number % len(positive)]]
            if len(names) > 1:
                rows += [(task, "original", others[i], name) for i in negative]
    return pd.DataFrame(rows, columns=["task", "origin", "image", "class"])


def simulate_annotations(
    shown: pd.DataFrame, probability: Floats, rng: np.random.Generator, assignments: int
) -> pd.DataFrame:
    """Simulate which images of each task its workers select, given each image's probability."""
    if not 1 <= assignments <= WORKERS:
        problem = f"cannot assign each task to {assignments} of {WORKERS} workers"
        raise InputError(problem, field="assignments")
    tasks, inverse = np.unique(shown["task"].to_numpy(str), return_inverse=True)
    # A random first worker and those that follow: all different, and with an even workload.
    first = rng.integers(0, WORKERS, len(tasks))[inverse]
    worker = (first[:, None] + np.arange(assignments)) % WORKERS
    selected = rng.random((len(shown), assignments)) < probability[:, None]
    names = np.array([f"worker-{i:04d}" for i in range(WORKERS)], dtype=object)
    annotations = {
        name: np.repeat(shown[name].to_numpy(object), assignments)
        for name in ("task", "origin", "image", "class")
    } | {"worker": names[worker.ravel()], "selected": selected.ravel()}
    return pd.DataFrame(annotations)[schemas.ANNOTATIONS.names]


def selection_probabilities(images: npt.NDArray[Any], classes: Counts, centres: Floats) -> Floats:
    """Compute the probability that a worker selects each image for a class, from class centres."""
    flat = images.reshape(len(images), -1).astype(np.float64)
    distance = np.sqrt(((flat[:, None, :] - centres[None]) ** 2).sum(axis=2))
    own = np.take_along_axis(distance, classes[:, None], axis=1)[:, 0]
    others = distance.copy()
    np.put_along_axis(others, classes[:, None], np.inf, axis=1)
    margin = (others.min(axis=1) - own) / distance.mean(axis=1)
    scale = np.median(np.abs(margin)) or 1.0
    return 1 / (1 + np.exp(-_STEEPNESS * margin / scale))


def class_centres(
    images: npt.NDArray[Any], labels: npt.NDArray[np.int16], n_classes: int
) -> Floats:
    """Compute the mean image of every class, shape (n_classes, d); NaN for one without images."""
    flat = images.reshape(len(images), -1).astype(np.float64)
    sums = np.zeros((n_classes, flat.shape[1]))
    np.add.at(sums, labels.astype(np.int64), flat)
    with np.errstate(invalid="ignore"):
        centres: Floats = sums / np.bincount(labels, minlength=n_classes)[:, None]
    return centres
