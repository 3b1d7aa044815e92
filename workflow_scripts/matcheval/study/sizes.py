"""Rough sizes of a study's datasets and models, for requests of resources and batches of jobs.

Memory and time of a job are requested before a model is built or an image read. Sizes of small
networks are about right, all others generous: a job whose request was too small is repeated with
more. They change no results.
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from matcheval.datasets.corruptions import SEVERITIES
from matcheval.datasets.custom import Parquet
from matcheval.datasets.kind import DatasetKind, Decoded, Subset
from matcheval.datasets.transformed import Corrupted, Restyled
from matcheval.errors import configuration_error
from matcheval.io.self_digests import read_json
from matcheval.models.rows import PUBLISHED
from matcheval.study.contents import StudyContents

CORE_FLOPS = 5e9  # floating-point operations per second that even a slow processor core reaches
_FEATURES = 2048  # of a model, before it is run


@dataclass(frozen=True)
class ImageSet:
    """Size of a dataset: number of images, height and width in pixels, channels, and classes."""

    images: int
    side: int
    channels: int = 3
    classes: int = 10
    encoded: bool = False  # stored as files, which are decoded when they are read
    made: bool = False  # from other images when they are read

    @property
    def pixel_bytes(self) -> int:
        """Size in bytes of all images, decoded into one array of uint8."""
        return self.images * self.side**2 * self.channels


@dataclass(frozen=True)
class ModelSize:
    """Parameters of a model; for one image, multiply-adds and values kept for gradients."""

    parameters: int
    multiply_adds: int
    kept: int = 0


# By what the name of a kind begins with, until a dataset is prepared.
_KINDS = {
    "digits": ImageSet(600, 8, 1), "cifar": ImageSet(50_000, 32), "cinic": ImageSet(90_000, 32),
    "warehouse_set": ImageSet(8000, 32), "": ImageSet(50_000, 224, classes=1000, encoded=True),
}  # fmt: skip
# Of 60 million parameters or fewer for 32 x 32 pixels, and 300 million for 224 x 224 pixels.
_FOR_CIFAR = ModelSize(60_000_000, 1_000_000_000, 5_000_000)
LARGE = ModelSize(300_000_000, 60_000_000_000)


def dataset_size(study: StudyContents, name: str, *, planned: bool = False) -> ImageSet:
    """Return the size of a dataset: from its description once it is prepared, else by its kind.

    A planned size is always the latter, so that it is the same before and after.
    """
    source = _source(study, name)
    settings = study.datasets[source].settings
    if (built := study.built_datasets.get(source)) and built.is_vectors:
        of = dataset_size(study, built.sources[0], planned=planned)
        guess = replace(of, side=1, channels=_FEATURES, encoded=False, made=False)
    elif isinstance(settings, Restyled):
        guess = replace(dataset_size(study, settings.of, planned=planned), made=False)
    elif isinstance(settings, Corrupted):
        of = dataset_size(study, settings.of, planned=planned)
        guess = replace(
            of, images=of.images * (len(SEVERITIES) if settings.severity == "all" else 1),
            side=settings.size or of.side, channels=3, encoded=False,
            made=settings.is_made and source == name,
        )  # fmt: skip
    else:
        guess = _guess(study.datasets[source].kind, settings)
    return guess if planned else _prepared_size(Path(study.dataset_folder(name)), guess)


def total_sizes(
    study: StudyContents, names: Iterable[str], *, planned: bool = False
) -> list[ImageSet]:
    """Return the sizes of datasets; those with images of one shape and kind count as one."""
    images = Counter[ImageSet]()
    for size in (dataset_size(study, name, planned=planned) for name in names):
        images[replace(size, images=1)] += size.images
    return [replace(size, images=n) for size, n in images.items()]


def _source(study: StudyContents, name: str) -> str:
    """The dataset that one is derived or built from: the first one, where there are several."""
    seen: set[str] = set()
    while name not in seen:  # sets that are made of each other are refused elsewhere
        seen.add(name)
        if name in study.derivations:
            name = study.derivations[name].of[0]
            continue
        built = study.built_datasets.get(name)
        if built is None or not built.sources or built.is_vectors:
            break
        name = built.sources[0]
    return name


def _guess(kind: str, settings: DatasetKind) -> ImageSet:
    """Estimate the size of a dataset that is not prepared from its kind and settings."""
    guess = next(size for name, size in _KINDS.items() if kind.startswith(name))
    if isinstance(settings, Parquet):
        with suppress(OSError, pa.ArrowInvalid):  # whoever reads such a file says what is wrong
            files = settings.custom_paths["files"]
            guess = replace(guess, images=sum(pq.read_metadata(file).num_rows for file in files))
    if isinstance(settings, Subset) and settings.rows is not None:
        start, end = settings.rows
        guess = replace(guess, images=min(guess.images, end - start))
    if isinstance(settings, Subset) and settings.per_class is not None and settings.n_classes:
        guess = replace(guess, images=min(guess.images, settings.per_class * settings.n_classes))
    if isinstance(settings, Decoded) and settings.resize is not None:
        guess = replace(guess, side=settings.resize, encoded=False)
    return guess


@cache
def _prepared_size(folder: Path, guess: ImageSet) -> ImageSet:
    """Read the size of a dataset from its description, if it is prepared."""
    description = folder / "dataset.json"
    if not description.is_file():
        return guess
    content = read_json(description, remedy="Delete the folder and build the dataset again")
    size = replace(guess, images=content["n"], classes=content["n_classes"])
    shape = content.get("shape")
    if shape is None:
        try:
            shape = np.load(folder / "images.npy", mmap_mode="r").shape
        except (OSError, ValueError, EOFError):  # the jobs that read them tell it
            return size
    if len(shape) != 4:  # image files, stored one after the other
        return replace(size, encoded=True)
    return replace(size, side=max(shape[1:3]), channels=shape[3], encoded=False)


def model_size(study: StudyContents, name: str, data: ImageSet) -> ModelSize:
    """Return the size of a model for images of a dataset."""
    model = study.runnable[name]
    assert model.source is not None, name  # no job runs known predictions
    described = model.source.options if model.recipe is None else vars(model.recipe)
    if "architecture" in described:
        width, depth = int(described["width"]), int(described["depth"])
        return network_size(described["architecture"], width, depth, data)
    if model.source.kind not in PUBLISHED:
        return LARGE
    side = max(study.inference_plan.geometry(name).crop)
    return replace(LARGE, multiply_adds=int(LARGE.multiply_adds * (side / 224) ** 2))


def network_size(architecture: str, width: int, depth: int, data: ImageSet) -> ModelSize:
    """Return the size of a network of the library for images of a dataset."""
    inputs = data.side**2 * data.channels
    if architecture in ("linear", "mlp"):
        hidden = [width] * depth if architecture == "mlp" else []
        weights = sum((a + 1) * b for a, b in pairwise([inputs, *hidden, data.classes]))
        return ModelSize(weights, weights)
    if architecture == "cnn":
        return _convolutions([(width, 1)] * depth, data)
    if architecture == "resnet":
        return _convolutions([(width << i, 2) for i in range(depth)], data)
    area = (data.side / 32) ** 2
    operations, kept = int(_FOR_CIFAR.multiply_adds * area), int(_FOR_CIFAR.kept * area)
    return ModelSize(_FOR_CIFAR.parameters, operations, kept)


def _convolutions(stages: list[tuple[int, int]], data: ImageSet) -> ModelSize:
    """Sum the sizes of stages, given as (channels, layers); each halves height and width."""
    side, before, weights, operations, kept = data.side, data.channels, 0, 0, 0
    for channels, layers in stages:
        of_layers = 9 * channels * (before + (layers - 1) * channels)
        weights += of_layers
        operations += of_layers * side**2
        kept += 3 * layers * channels * side**2  # of convolution, normalisation and activation
        before, side = channels, max(1, side // 2)
    # The classifier reads the last feature map or its mean; assumed is the map, which is larger.
    last = before * side**2 * data.classes
    return ModelSize(weights + last, operations + last, kept)


def check_one_size(study: StudyContents, name: str, *, field: str, remedy: str) -> None:
    """Check that the images of a dataset are stored as pixels of one size, not as files."""
    if not study.datasets[_source(study, name)].settings.has_one_size:
        problem = f"the images of '{name}' are files, which may differ in size"
        raise configuration_error(problem, field=field, remedy=remedy)
