"""Sizes of a study's datasets and models, for requests of resources and batches of small jobs."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from matcheval.datasets.corruptions.names import SEVERITIES
from matcheval.datasets.custom import Parquet
from matcheval.datasets.kind import DatasetKind, Decoded, Subset
from matcheval.datasets.transformed import Corrupted, Restyled
from matcheval.errors import configuration_error
from matcheval.execution import sizes
from matcheval.execution.sizes import MANY_FEATURES, ImageSet, ModelSize
from matcheval.models.rows import PUBLISHED
from matcheval.study.contents import StudyContents


def dataset_size(study: StudyContents, name: str, *, planned: bool = False) -> ImageSet:
    """Return the size of a dataset: from its description once it is prepared, else by its kind.

    A planned size is always the latter, so that it is the same before and after.
    """
    source = _source(study, name)
    settings = study.datasets[source].settings
    if (built := study.built_datasets.get(source)) and built.is_vectors:
        of = dataset_size(study, built.sources[0], planned=planned)
        guess = replace(of, side=1, channels=MANY_FEATURES, encoded=False, made=False)
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
    folder = Path(study.dataset_folder(name))
    return guess if planned else sizes.prepared_size(folder, guess)


def check_one_size(study: StudyContents, name: str, *, field: str, remedy: str) -> None:
    """Check that the images of a dataset are stored as pixels of one size, not as files."""
    if not study.datasets[_source(study, name)].settings.has_one_size:
        problem = f"the images of '{name}' are files, which may differ in size"
        raise configuration_error(problem, field=field, remedy=remedy)


def _guess(kind: str, settings: DatasetKind) -> ImageSet:
    """Estimate the size of a dataset that is not prepared from its kind and settings."""
    guess = sizes.size_of_kind(kind)
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


def _source(study: StudyContents, name: str) -> str:
    """The dataset that one is derived or built from: the first one, where there are several."""
    while True:
        if name in study.derivations:
            name = study.derivations[name].of[0]
            continue
        built = study.built_datasets.get(name)
        if built is None or not built.sources or built.is_vectors:
            return name
        name = built.sources[0]


def model_size(study: StudyContents, name: str, data: ImageSet) -> ModelSize:
    """Return the size of a model: by its recipe, or else by its name."""
    model = study.runnable[name]
    assert model.source is not None, name  # no job runs known predictions
    described = model.source.options if model.recipe is None else vars(model.recipe)
    if "architecture" in described:
        width, depth = int(described["width"]), int(described["depth"])
        groups = int(described.get("groups", 1))
        return sizes.size_of_architecture(
            described["architecture"], width, depth, data, groups=groups
        )
    if model.source.kind in PUBLISHED:
        side = max(study.inference_plan.geometry(name).crop)
        return sizes.size_of_published(model.source.source, side=side)
    return sizes.UNKNOWN_PUBLISHED
