"""Rough estimates of the work of trainings and inference, and which of these share a job.

Estimates are made from the study file alone, before a model is built or an image read. Those of
small networks are about right, all others generous. They change no results.

On a processor, to start Python with torch takes longer than many a training. Small trainings, and
small models, are therefore run together: sizes decide, not the machine. On a GPU, and for larger
networks, a job per training stays: it can be repeated, and run elsewhere, by itself.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from matcheval.datasets.corruptions import SEVERITIES
from matcheval.datasets.kind import DatasetKind, Decoded, Subset
from matcheval.datasets.transformed import Corrupted, Restyled
from matcheval.errors import configuration_error
from matcheval.inference import OUTPUT_SUFFIXES
from matcheval.models.rows import PUBLISHED

if TYPE_CHECKING:
    from matcheval.study.study import Study

# Floating-point operations per second that even a slow processor core, and a slow GPU, reaches.
CORE_FLOPS, _GPU_FLOPS = 5e9, 5e12
# What one core does in a second: images that it decodes, values of images that it makes.
_DECODED_PER_SECOND, _MADE_PER_SECOND = 150, 2e6
_FEATURES = 2048  # of a network, before it is run
# Multiply-adds of large networks for an image of 32 x 32 and of 224 x 224 pixels.
_CIFAR_MULTIPLY_ADDS, _IMAGENET_MULTIPLY_ADDS = 1_000_000_000, 60_000_000_000


@dataclass(frozen=True)
class ImageSet:
    """Estimated size of a dataset: number of images, side in pixels, channels, and classes."""

    images: int
    side: int
    channels: int = 3
    classes: int = 10
    encoded: bool = False  # stored as files, which are decoded when they are read
    made: bool = False  # from other images when they are read

    @property
    def reading_seconds(self) -> float:
        """Seconds that one core takes to decode or compute the images; 0 for stored arrays."""
        if self.made:
            return self.images * self.side**2 * self.channels / _MADE_PER_SECOND
        return self.images / _DECODED_PER_SECOND if self.encoded else 0.0


# By what the name of a kind begins with.
_KINDS = {
    "digits": ImageSet(600, 8, 1), "cifar": ImageSet(50_000, 32), "cinic": ImageSet(90_000, 32),
    "warehouse_set": ImageSet(8000, 32), "": ImageSet(50_000, 224, classes=1000, encoded=True),
}  # fmt: skip


def dataset_size(study: "Study", name: str) -> ImageSet:
    """Estimate the size of a dataset by its kind and settings, without reading it."""
    source = _first_source(study, name)
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
    """Estimate the size of a dataset of some kind, as its settings reduce it."""
    size = next(size for name, size in _KINDS.items() if kind.startswith(name))
    if isinstance(settings, Subset) and settings.rows is not None:
        start, end = settings.rows
        size = replace(size, images=min(size.images, end - start))
    if isinstance(settings, Subset) and settings.per_class is not None and settings.n_classes:
        size = replace(size, images=min(size.images, settings.per_class * settings.n_classes))
    if isinstance(settings, Decoded) and settings.resize is not None:
        size = replace(size, side=settings.resize, encoded=False)
    return size


def _first_source(study: "Study", name: str) -> str:
    """Follow a derived or built dataset back, by first sources, to the dataset at its origin."""
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


def combined_sizes(study: "Study", names: Iterable[str]) -> list[ImageSet]:
    """Estimate the sizes of datasets; those with the same shape and kind of images are added up."""
    images = Counter[ImageSet]()
    for size in (dataset_size(study, name) for name in names):
        images[replace(size, images=1)] += size.images
    return [replace(size, images=n) for size, n in images.items()]


def multiply_adds(study: "Study", name: str, data: ImageSet) -> int:
    """Estimate a model's multiply-adds per image; those of unknown networks count as large."""
    model = study.runnable[name]
    assert model.source is not None, name  # no job runs known predictions
    options = model.source.options if model.recipe is None else vars(model.recipe)
    if "architecture" in options:
        width, depth = int(options["width"]), int(options["depth"])
        return network_multiply_adds(options["architecture"], width, depth, data)
    if model.source.kind not in PUBLISHED:
        return _IMAGENET_MULTIPLY_ADDS
    side = max(study.inference_plan.geometry(name).crop)
    return int(_IMAGENET_MULTIPLY_ADDS * (side / 224) ** 2)


def network_multiply_adds(architecture: str, width: int, depth: int, data: ImageSet) -> int:
    """Estimate the multiply-adds per image of one of the library's networks."""
    if architecture in ("linear", "mlp"):
        hidden = [width] * depth if architecture == "mlp" else []
        layers = [data.side**2 * data.channels, *hidden, data.classes]
        return sum((a + 1) * b for a, b in pairwise(layers))
    if architecture not in ("cnn", "resnet"):
        return int(_CIFAR_MULTIPLY_ADDS * (data.side / 32) ** 2)
    n_layers = 2 if architecture == "resnet" else 1  # of a stage, after which the side is halved
    side, before, operations = data.side, data.channels, 0
    for stage in range(depth):
        channels = width << stage if architecture == "resnet" else width
        operations += 9 * channels * (before + (n_layers - 1) * channels) * side**2
        before, side = channels, max(1, side // 2)
    # The classifier reads the last feature map or its mean; assumed is the map, which is larger.
    return operations + before * side**2 * data.classes


class Work(NamedTuple):
    """Estimated work of a job: operations of networks, and seconds of one core to read images."""

    operations: float
    reading_seconds: float

    def seconds(self, threads: int, has_gpu: bool) -> float:
        """Return the seconds on `threads` cores, or on a GPU for which these cores read images."""
        flops = _GPU_FLOPS if has_gpu else threads * CORE_FLOPS
        return self.operations / flops + self.reading_seconds / threads


def training_work(study: "Study", model: str) -> Work:
    """Estimate the work of the whole training of a model."""
    trained = study.trained[model]
    recipe, sizes = trained.recipe, [dataset_size(study, name) for name in trained.train]
    drawn = recipe.epoch_steps * recipe.batch_size * len(sizes)
    images = recipe.epochs * (drawn or sum(size.images for size in sizes))
    passes = recipe.typed_options[0].forward_passes
    operations = 2.0 * passes * images * multiply_adds(study, model, sizes[0])
    reading_seconds = sum(s.reading_seconds * (1 if s.made else recipe.epochs) for s in sizes)
    return Work(operations, reading_seconds)


def inference_work(study: "Study", models: Iterable[str], sizes: Sequence[ImageSet]) -> Work:
    """Estimate the work of running models on datasets of these sizes, each read only once."""
    operations = sum(
        2.0 * size.images * multiply_adds(study, name, size) for name in models for size in sizes
    )
    return Work(operations, sum(size.reading_seconds for size in sizes))


def check_one_size(study: "Study", name: str, *, field: str, remedy: str) -> None:
    """Check that a dataset's images are stored as pixels of one size, not as files."""
    if not study.datasets[_first_source(study, name)].settings.has_one_size:
        problem = f"the images of '{name}' are files, which may differ in size"
        raise configuration_error(problem, field=field, remedy=remedy)


# --- jobs

# Seconds of a slow core that a batch takes at most, and the part of it that a member may take.
# Models that are run together share the making and reading of images, and divide the datasets.
TRAINING_SECONDS, INFERENCE_SECONDS = 300, 1800
_LARGEST_PART = 0.2


def group_into_batches(
    names: Iterable[str], seconds: Callable[[str], float], max_seconds: float
) -> list[tuple[str, ...]]:
    """Group names, in order, into batches of limited seconds; names that take long are left out."""
    batches: list[list[str]] = []
    used = max_seconds
    for name in names:
        needed = seconds(name)
        if needed > _LARGEST_PART * max_seconds:
            continue
        if used + needed > max_seconds:
            batches, used = [*batches, []], 0.0
        batches[-1].append(name)
        used += needed
    return list(map(tuple, batches))


class Trainings:
    """How a study's trainings are divided among jobs."""

    def __init__(self, study: "Study") -> None:
        self._study = study

    @cached_property
    def batches(self) -> dict[int, tuple[str, ...]]:
        """Names of the models that are trained together, by number of the job."""
        study = self._study
        settings = study.training
        if settings is None or settings.device != "cpu" or settings.models_per_job == 1:
            return {}
        # Those of analyses may be trained on what the models of the catalogue predict.
        groups = [[name for name in study.trained if name in study.models]]
        groups += [list(analysis.trained) for analysis in study.analyses.values()]
        batches = (group_into_batches(models, self._seconds, TRAINING_SECONDS) for models in groups)
        return dict(enumerate(chain.from_iterable(batches), 1))

    @property
    def with_own_job(self) -> list[str]:
        """Names of the models that are trained by a job of their own."""
        together = {model for models in self.batches.values() for model in models}
        return [name for name in self._study.trained if name not in together]

    def _seconds(self, model: str) -> float:
        return training_work(self._study, model).operations / CORE_FLOPS


class Predicting:
    """How the inference of a study's models is divided among jobs.

    A job runs one model, or several, on all datasets of pairs and suites. The results on a dataset
    of a pair are a file for each model and output; those on the sets of a suite are a folder for
    each model.
    """

    def __init__(self, study: "Study") -> None:
        self._study = study

    @cached_property
    def models(self) -> list[str]:
        """Names of those models of the catalogue that are run."""
        return [name for name, model in self._study.models.items() if model.source is not None]

    @cached_property
    def batches(self) -> dict[int, tuple[str, ...]]:
        """Names of the models that are run together, by number of the job."""
        planned = self._study.inference_plan.batches(self.models).values()
        batches = self._small_batches if self.side_by_side else planned
        return dict(enumerate((models for models in batches if len(models) > 1), 1))

    @property
    def side_by_side(self) -> bool:
        """Whether small models run side by side: `models_per_job` is auto, the device the CPU."""
        settings = self._study.inference
        return settings.models_per_job == "auto" and settings.device == "cpu"

    @property
    def with_own_job(self) -> list[str]:
        """Names of the models that are run by a job of their own."""
        together = {model for models in self.batches.values() for model in models}
        return [model for model in self.models if model not in together]

    @property
    def _small_batches(self) -> list[tuple[str, ...]]:
        """Batches of small models whose inputs have the same geometry."""
        by_geometry: dict[str, list[str]] = {}
        for name in self.models:
            geometry = self._study.inference_plan.geometry(name).name
            by_geometry.setdefault(geometry, []).append(name)
        groups = by_geometry.values()
        batches = (group_into_batches(names, self._seconds, INFERENCE_SECONDS) for names in groups)
        return list(chain.from_iterable(batches))

    def _seconds(self, model: str) -> float:
        """Estimate how long a slow core takes to run a model on all datasets."""
        return inference_work(self._study, [model], self.sizes).operations / CORE_FLOPS

    @cached_property
    def sizes(self) -> list[ImageSet]:
        """Estimated sizes of all datasets, added up where images have one shape and kind."""
        return combined_sizes(self._study, self.datasets)

    # --- datasets and files

    @cached_property
    def single(self) -> list[str]:
        """Names of the datasets with images that have a file of results for each model."""
        return [name for name in self._study.single if self._study.datasets[name].has_images]

    @cached_property
    def suites(self) -> dict[str, list[str]]:
        """Names of the datasets whose results lie in the folder of a suite, by suite."""
        suites: dict[str, list[str]] = {}
        for name, suite in self._study.suite_of.items():
            suites.setdefault(suite, []).append(name)
        return suites

    @cached_property
    def checked_suites(self) -> dict[str, list[str]]:
        """Names of the datasets with images of each suite, of suites that have any."""
        datasets = self._study.datasets
        suites = {
            name: [dataset for dataset in suite.datasets if datasets[dataset].has_images]
            for name, suite in self._study.suites.items()
        }
        return {name: sets for name, sets in suites.items() if sets}

    @property
    def datasets(self) -> list[str]:
        """Names of all datasets that the models of the catalogue are run on."""
        return [*self.single, *self._study.suite_of]

    @property
    def suffixes(self) -> list[str]:
        """Suffixes of the files of a model's results on one dataset."""
        outputs = ("predictions", *self._study.inference.outputs)
        return [OUTPUT_SUFFIXES[output] for output in outputs]

    def suite_file(self, suite: str) -> str:
        """Return the path of the file with names and digests of a suite's datasets."""
        return f"{self._study.folder}/suites/{suite}.json"

    def tested_folder(self, batch: str) -> str:
        """Return the folder of predictions of models that an analysis tests together."""
        return f"{self._study.folder}/tested/{batch}"
