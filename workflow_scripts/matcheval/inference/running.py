"""Inference from files to files: the work of the entry point `predict_dataset`."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from matcheval.datasets.dataset import Dataset
from matcheval.datasets.folders import read_dataset, read_description
from matcheval.errors import InputError
from matcheval.inference import AUTOMATIC, INFERENCE_VERSION, N_TOP
from matcheval.inference.cache_manifest import CacheManifest
from matcheval.inference.forward import ForwardConfig, run_inference
from matcheval.inference.outputs import build_writers
from matcheval.inference.pixel_cache import open_pixels
from matcheval.inference.precision import DTYPE_TEXT
from matcheval.inference.readers import ArrayReader, DecodingReader, Reader
from matcheval.io.provenance import software_versions
from matcheval.models.devices import resolve_device
from matcheval.models.loaded_model import LoadedModel
from matcheval.models.loading import load_model
from matcheval.models.rows import TIMM, TORCHVISION, ModelSource

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class InferenceConfig:
    """How to run a model, in the terms of a configuration (see `forward.ForwardConfig`).

    Attributes
    ----------
    device : str
        As for `resolve_device`.
    batch_size, n_threads, precision, compile
        As for `ForwardConfig`.
    n_top : int
        Number of classes per datapoint that the output `top` keeps, at least 1.
    """

    device: str = "cpu"
    batch_size: int | str = AUTOMATIC
    n_threads: int = 1
    precision: str = "fp32"
    compile: bool = False
    n_top: int = N_TOP

    def settings(self) -> ForwardConfig:
        """Resolve the device and return the settings of the forward pass.

        Raises
        ------
        InputError
            If this machine has no such device, or a setting is not valid on it.
        """
        device = resolve_device(self.device)
        return ForwardConfig(device, self.batch_size, self.n_threads, self.precision, self.compile)


def predict_to_files(
    model: ModelSource,
    weights: Path | None,
    dataset_name: str,
    dataset_folder: Path,
    files: Mapping[str, Path],
    *,
    config: InferenceConfig,
    manifest_file: Path | None = None,
    progress: bool = False,
) -> None:
    """Run a model on a dataset and write the requested outputs.

    Parameters
    ----------
    model : ModelSource
        The model to run.
    weights : Path or None
        Its file of weights; None for a callable.
    dataset_name : str
        Name that the dataset must have.
    dataset_folder : Path
        The prepared dataset.
    files : mapping of str to Path
        File of each output (see `outputs.build_writers`).
    config : InferenceConfig
        Device, batch size, precision.
    manifest_file : Path, optional
        Manifest of a pixel cache (see `cache_manifest`).
    progress : bool
        Whether to draw a progress bar.

    Raises
    ------
    InputError
        If an input is missing or damaged, has another name, or model and dataset do not match;
        also as `forward.run_inference`.
    """
    settings = config.settings()
    _check_name(dataset_name, dataset_folder)
    manifest = CacheManifest.read(manifest_file) if manifest_file else None
    cached = manifest is not None and manifest.has_pixels
    # A pixel cache has checksums of its own; without one, the dataset is read once to verify it.
    dataset = read_dataset(dataset_folder, verify=not cached)
    loaded = load_model(model, weights, dataset)
    cache = _open_cache(manifest, loaded, dataset) if manifest is not None and cached else None
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
        writers=build_writers(files, metadata, config.n_top),
        progress=progress,
    )
    if manifest is not None and manifest_file is not None:
        manifest.remove_unused_cache(manifest_file)


def provenance(
    model: ModelSource, loaded: LoadedModel, dataset: Dataset, settings: ForwardConfig
) -> dict[str, str]:
    """Describe how an output was computed; without dates, so that files are reproducible.

    Parameters
    ----------
    model : ModelSource
        The model as the catalogue has it.
    loaded : LoadedModel
        The model with its weights and transform.
    dataset : Dataset
        The dataset it ran on.
    settings : ForwardConfig
        How the forward pass was computed.

    Returns
    -------
    dict of str to str
        Key-value metadata for the files.
    """
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


def _open_cache(manifest: CacheManifest, loaded: LoadedModel, dataset: Dataset) -> Reader | None:
    """Open a pixel cache; None if another job removed it while the model was being loaded."""
    assert manifest.pixels is not None
    try:
        cache = open_pixels(manifest.pixels, dataset.sha256, loaded.transform.geometry)
    except InputError:
        if manifest.has_pixels:
            raise
        return None
    log.info("pixels from %s", manifest.pixels)
    return cache


def _reader(loaded: LoadedModel, dataset: Dataset, cache: Reader | None, n_threads: int) -> Reader:
    """Choose the source of the pixels; it does not affect the results."""
    geometry = loaded.transform.geometry
    if geometry.resize == "none" and dataset.stored == "array":
        return ArrayReader(dataset)
    if cache is not None:
        return cache
    log.info("pixels decoded during the pass")
    return DecodingReader(dataset, geometry, n_threads)


def _check_name(name: str, folder: Path) -> None:
    found = read_description(folder)["name"]
    if name != found:
        raise InputError(
            f"is of '{found}', not of '{name}'",
            file=folder,
            remedy="Give the name it was built with, or build it again",
        )
