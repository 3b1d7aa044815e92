"""Rough estimates of the work of trainings and inference, from the study file alone.

They decide which small jobs run together and how much time is asked for, before a model is built or
an image read. Those of small networks are about right, all others generous. They change no results.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from matcheval.datasets.corruptions import SEVERITIES
from matcheval.datasets.kind import DatasetKind, Decoded, Subset
from matcheval.datasets.transformed import Corrupted, Restyled
from matcheval.errors import configuration_error
from matcheval.models.rows import PUBLISHED
from matcheval.study.contents import StudyContents

# Floating-point operations per second that even a slow processor core, and a slow GPU, reaches.
CORE_FLOPS, _GPU_FLOPS = 5e9, 5e12
# What one core does in a second: images that it decodes, values of images that it makes.
_DECODED_PER_SECOND, _MADE_PER_SECOND = 150, 2e6
_FEATURES = 2048  # of a network, before it is run
# Multiply-adds of large networks for an image of 32 x 32 and of 224 x 224 pixels.
_OF_CIFAR, _OF_IMAGENET = 1_000_000_000, 60_000_000_000


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
    def reading(self) -> float:
        """Seconds in which one core decodes or makes the images; to read arrays takes none."""
        if self.made:
            return self.images * self.side**2 * self.channels / _MADE_PER_SECOND
        return self.images / _DECODED_PER_SECOND if self.encoded else 0.0


# By what the name of a kind begins with.
_KINDS = {
    "digits": ImageSet(600, 8, 1), "cifar": ImageSet(50_000, 32), "cinic": ImageSet(90_000, 32),
    "warehouse_set": ImageSet(8000, 32), "": ImageSet(50_000, 224, classes=1000, encoded=True),
}  # fmt: skip


def dataset_size(study: StudyContents, name: str) -> ImageSet:
    """Estimate the size of a dataset by its kind and settings."""
    source = _source(study, name)
    spec = study.datasets[source]
    if (built := study.built_datasets.get(source)) and built.is_vectors:
        images = dataset_size(study, built.sources[0])
        return replace(images, side=1, channels=_FEATURES, encoded=False, made=False)
    if isinstance(spec.settings, Restyled):
        return replace(dataset_size(study, spec.settings.of), made=False)
    if isinstance(spec.settings, Corrupted):
        images, settings = dataset_size(study, spec.settings.of), spec.settings
        return replace(
            images, images=images.images * (len(SEVERITIES) if settings.severity == "all" else 1),
            side=settings.size or images.side, channels=3, encoded=False,
            made=settings.is_made and source == name,
        )  # fmt: skip
    return _size_of_kind(spec.kind, spec.settings)


def _size_of_kind(kind: str, settings: DatasetKind) -> ImageSet:
    size = next(size for name, size in _KINDS.items() if kind.startswith(name))
    if isinstance(settings, Subset) and settings.rows is not None:
        start, end = settings.rows
        size = replace(size, images=min(size.images, end - start))
    if isinstance(settings, Subset) and settings.per_class is not None and settings.n_classes:
        size = replace(size, images=min(size.images, settings.per_class * settings.n_classes))
    if isinstance(settings, Decoded) and settings.resize is not None:
        size = replace(size, side=settings.resize, encoded=False)
    return size


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


def total_sizes(study: StudyContents, names: Iterable[str]) -> list[ImageSet]:
    """Return the sizes of datasets; those with images of one shape and kind count as one."""
    images = Counter[ImageSet]()
    for size in (dataset_size(study, name) for name in names):
        images[replace(size, images=1)] += size.images
    return [replace(size, images=n) for size, n in images.items()]


def multiply_adds(study: StudyContents, name: str, data: ImageSet) -> int:
    """Estimate a model's multiply-adds for an image; an unknown network counts as a large one."""
    model = study.runnable[name]
    assert model.source is not None, name  # no job runs known predictions
    described = model.source.options if model.recipe is None else vars(model.recipe)
    if "architecture" in described:
        width, depth = int(described["width"]), int(described["depth"])
        return network_multiply_adds(described["architecture"], width, depth, data)
    if model.source.kind not in PUBLISHED:
        return _OF_IMAGENET
    side = max(study.inference_plan.geometry(name).crop)
    return int(_OF_IMAGENET * (side / 224) ** 2)


def network_multiply_adds(architecture: str, width: int, depth: int, data: ImageSet) -> int:
    """Return the multiply-adds of a network of the library for one image of a dataset."""
    if architecture in ("linear", "mlp"):
        hidden = [width] * depth if architecture == "mlp" else []
        layers = [data.side**2 * data.channels, *hidden, data.classes]
        return sum((a + 1) * b for a, b in pairwise(layers))
    if architecture not in ("cnn", "resnet"):
        return int(_OF_CIFAR * (data.side / 32) ** 2)
    n_layers = 2 if architecture == "resnet" else 1  # of a stage, after which the side is halved
    side, before, operations = data.side, data.channels, 0
    for stage in range(depth):
        channels = width << stage if architecture == "resnet" else width
        operations += 9 * channels * (before + (n_layers - 1) * channels) * side**2
        before, side = channels, max(1, side // 2)
    # The classifier reads the last feature map or its mean; assumed is the map, which is larger.
    return operations + before * side**2 * data.classes


class Work(NamedTuple):
    """Floating-point operations of networks, and seconds in which one core reads the images."""

    operations: float
    reading: float

    def seconds(self, threads: int, has_gpu: bool) -> float:
        """Return the seconds that it takes on some cores, or on a GPU that they read images for."""
        flops = _GPU_FLOPS if has_gpu else threads * CORE_FLOPS
        return self.operations / flops + self.reading / threads


def training_work(study: StudyContents, model: str) -> Work:
    """Return the work of a whole training."""
    trained = study.trained[model]
    recipe, sizes = trained.recipe, [dataset_size(study, name) for name in trained.train]
    drawn = recipe.epoch_steps * recipe.batch_size * len(sizes)
    images = recipe.epochs * (drawn or sum(size.images for size in sizes))
    passes = recipe.typed_options[0].forward_passes
    operations = 2.0 * passes * images * multiply_adds(study, model, sizes[0])
    return Work(operations, sum(s.reading * (1 if s.made else recipe.epochs) for s in sizes))


def inference_work(study: StudyContents, models: Iterable[str], sizes: Sequence[ImageSet]) -> Work:
    """Return the work of models on datasets of some sizes, which they read together."""
    operations = sum(
        2.0 * size.images * multiply_adds(study, name, size) for name in models for size in sizes
    )
    return Work(operations, sum(size.reading for size in sizes))


def check_one_size(study: StudyContents, name: str, *, field: str, remedy: str) -> None:
    """Check that the images of a dataset are stored as pixels of one size, not as files."""
    if not study.datasets[_source(study, name)].settings.has_one_size:
        problem = f"the images of '{name}' are files, which may differ in size"
        raise configuration_error(problem, field=field, remedy=remedy)
