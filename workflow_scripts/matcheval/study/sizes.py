"""How large the datasets and models of a study are, as far as that is known before any job."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from matcheval.datasets.corruptions.names import SEVERITIES
from matcheval.datasets.custom_kinds import Parquet
from matcheval.datasets.kind import DatasetKind, Decoded, Subset
from matcheval.datasets.made_kinds import Corrupted, Restyled
from matcheval.errors import configuration_error
from matcheval.execution import sizes
from matcheval.execution.sizes import ImageSet, ModelSize
from matcheval.models.rows import TIMM, TORCHVISION
from matcheval.study.study import Study


def dataset_size(study: Study, name: str) -> ImageSet:
    """Return the size of a dataset: from its description once it is prepared, else by its kind."""
    folder, asked = study.dataset_folder(name), name
    name = _source(study, name)
    settings = study.datasets[name].settings
    if isinstance(settings, Restyled):
        of = dataset_size(study, settings.of)
        return sizes.prepared_size(Path(folder), replace(of, made=False))
    if not isinstance(settings, Corrupted):
        guess = _guess(study.datasets[name].kind, settings)
        return sizes.prepared_size(Path(folder), guess)
    of = dataset_size(study, settings.of)
    made = settings.is_made and name == asked
    copies = len(SEVERITIES) if settings.severity == "all" else 1
    guess = replace(
        of, images=of.images * copies, side=settings.size or of.side, channels=3, encoded=False,
        made=made,
    )  # fmt: skip
    return sizes.prepared_size(Path(folder), guess)


def check_one_size(study: Study, name: str, *, field: str, remedy: str) -> None:
    """Check that the images of a dataset are stored as pixels of one size, not as files."""
    if not study.datasets[_source(study, name)].settings.has_one_size:
        raise configuration_error(
            f"the images of '{name}' are files, which may differ in size",
            field=field,
            remedy=remedy,
        )


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
    if isinstance(settings, Decoded) and settings.resize is not None:
        guess = replace(guess, side=settings.resize, encoded=False)
    return guess


def _source(study: Study, name: str) -> str:
    """The dataset that one is derived or built from: the first one, where there are several."""
    while sources := _sources(study, name):
        name = sources[0]
    return name


def _sources(study: Study, name: str) -> tuple[str, ...]:
    """The datasets that one is derived or built from."""
    if name in study.derivations:
        return study.derivations[name].of
    built = study.built_datasets.get(name)
    return built.sources if built else ()


def model_size(study: Study, name: str, data: ImageSet) -> ModelSize:
    """Return the size of a model: by its recipe, or else by its name."""
    model = study.runnable[name]
    assert model.source is not None, name  # no job runs known predictions
    described: Mapping[str, Any] = model.source.options
    if model.recipe is not None:
        described = vars(model.recipe)
    if described:
        return sizes.size_of_architecture(
            described["architecture"],
            int(described["width"]),
            int(described["depth"]),
            data,
            groups=int(described.get("groups", 1)),
        )
    if model.source.kind in (TIMM, TORCHVISION):
        side = max(study.inference_plan.geometry(name).crop)
        return sizes.size_of_published(model.source.source, side=side)
    return sizes.UNKNOWN_PUBLISHED
