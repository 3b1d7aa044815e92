"""From files to files: what the door `predict_dataset` opens."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from matcheval.datasets.folders import Dataset, read_dataset, read_description
from matcheval.errors import InputError
from matcheval.inference import AUTOMATIC, INFERENCE_VERSION, N_TOP
from matcheval.inference.cache_manifest import Ticket
from matcheval.inference.forward import Settings, run_inference
from matcheval.inference.outputs import make_sinks
from matcheval.inference.pixel_cache import open_pixels
from matcheval.inference.precision import DTYPE_TEXT
from matcheval.inference.readers import ArrayReader, DecodingReader, Reader
from matcheval.io.provenance import software_versions
from matcheval.models.devices import resolve_device
from matcheval.models.loading import LoadedModel, load_model
from matcheval.models.rows import TIMM, TORCHVISION, ModelSource

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class How:
    """How to run a model, as a configuration says it (see `forward.Settings`).

    Attributes
    ----------
    device : str
        As for `resolve_device`.
    batch_size, n_threads, precision, compile
        As of `Settings`.
    n_top : int
        How many first classes the output `top` keeps.
    """

    device: str = "cpu"
    batch_size: int | str = AUTOMATIC
    n_threads: int = 1
    precision: str = "fp32"
    compile: bool = False
    n_top: int = N_TOP

    def settings(self) -> Settings:
        """Find the device."""
        place = resolve_device(self.device)
        return Settings(place, self.batch_size, self.n_threads, self.precision, self.compile)


def predict_to_files(
    model: ModelSource,
    weights: Path | None,
    dataset_name: str,
    dataset_folder: Path,
    files: Mapping[str, Path],
    *,
    how: How,
    ticket_file: Path | None = None,
    progress: bool = False,
) -> None:
    """Run a model on a dataset and write the wanted outputs.

    Parameters
    ----------
    model : ModelSource
        What to run.
    weights : Path or None
        Its file of weights; None for a callable.
    dataset_name : str
        Name that the dataset must have.
    dataset_folder : Path
        The dataset.
    files : mapping
        Where each output goes (see `outputs.make_sinks`).
    how : How
        Device, batches, precision.
    ticket_file : Path, optional
        Says where a pixel cache may be (see `tickets`).
    progress : bool
        Whether to draw a progress bar.

    Raises
    ------
    InputError
        If an input is unsound, is not of the given name, or the two do not go together.
    """
    settings = how.settings()
    _check_name(dataset_name, dataset_folder)
    ticket = Ticket.read(ticket_file) if ticket_file else None
    cached = ticket is not None and ticket.has_pixels
    # Pixels from a cache are checked against that; all others are read once to be checked.
    dataset = read_dataset(dataset_folder, verify=not cached)
    loaded = load_model(model, weights, dataset)
    cache = _open_cache(ticket, loaded, dataset) if ticket is not None and cached else None
    if cached and cache is None:
        dataset = read_dataset(dataset_folder)
    reader = _reader(loaded, dataset, cache, settings.n_threads)
    metadata = provenance(model, loaded, dataset, settings)
    run_inference(
        loaded.module,
        reader,
        loaded.transform,
        dataset,
        model_name=model.name,
        settings=settings,
        sinks=make_sinks(files, metadata, how.n_top),
        progress=progress,
    )
    if ticket is not None and ticket_file is not None:
        ticket.finish(ticket_file)


def provenance(
    model: ModelSource, loaded: LoadedModel, dataset: Dataset, settings: Settings
) -> dict[str, str]:
    """What made an output, as a file's key-value text: no times, so that files repeat."""
    resized = loaded.transform.geometry.resize != "none"
    packages = ["numpy", "torch"]
    packages += [kind for kind in (TIMM, TORCHVISION) if kind == model.kind]
    packages += ["pillow"] if resized else []
    return {
        "model": model.name,
        "model_source": loaded.description,
        "dataset": dataset.name,
        "n_classes": str(dataset.n_classes),
        "weights_sha256": loaded.weights_sha256,
        "dataset_sha256": dataset.sha256,
        "transform": loaded.transform.text(255 if resized else dataset.max_value),
        "dtype": DTYPE_TEXT[settings.precision],
        "device": settings.device.type,
        "compiled": str(settings.compile).lower(),
        "inference_version": str(INFERENCE_VERSION),
        **software_versions(*packages),
    }


def _open_cache(ticket: Ticket, loaded: LoadedModel, dataset: Dataset) -> Reader | None:
    """Open a pixel cache; None if another job removed it while the model was loaded."""
    assert ticket.pixels is not None
    try:
        cache = open_pixels(ticket.pixels, dataset.sha256, loaded.transform.geometry)
    except InputError:
        if ticket.has_pixels:
            raise
        return None
    log.info("pixels from %s", ticket.pixels)
    return cache


def _reader(loaded: LoadedModel, dataset: Dataset, cache: Reader | None, n_threads: int) -> Reader:
    """Choose where the pixels come from: nothing else depends on it."""
    geometry = loaded.transform.geometry
    if geometry.resize == "none" and dataset.stored == "array":
        return ArrayReader(dataset)
    if cache is not None:
        return cache
    log.info("pixels decoded on the way")
    return DecodingReader(dataset, geometry, n_threads)


def _check_name(name: str, folder: Path) -> None:
    found = read_description(folder)["name"]
    if name != found:
        raise InputError(
            f"is of '{found}', not of '{name}'",
            file=folder,
            remedy="Give the name it was made with, or make it again",
        )
