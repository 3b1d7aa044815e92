"""Running models on a dataset, from files to files: the part of a job that needs torch."""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from matcheval.datasets.dataset import Dataset, stored_shape
from matcheval.datasets.folders import read_dataset, read_description
from matcheval.errors import ErrorCollector, InputError
from matcheval.inference import INFERENCE_VERSION, readers
from matcheval.inference.forward import DTYPE_TEXT, ForwardModel, resolved, run_inference
from matcheval.inference.outputs import Writer, build_writers
from matcheval.inference.settings import InferenceConfig
from matcheval.inference.store import INPUTS_KEY, ModelFiles, Task
from matcheval.io.provenance import software_versions
from matcheval.models.loading import LoadedModel, load_model
from matcheval.models.published import package_name
from matcheval.models.rows import PUBLISHED, ModelSource
from matcheval.models.transforms import Geometry

log = logging.getLogger(__name__)


class ModelRunner:
    """Runs models on several datasets in turn, and keeps loaded models for the next dataset."""

    def __init__(self, config: InferenceConfig, *, progress: bool = False) -> None:
        self._config, self._progress = resolved(config), progress
        self._loaded: dict[str, tuple[object, LoadedModel, ForwardModel]] = {}

    def run(self, name: str, folder: Path, tasks: Sequence[Task]) -> None:
        """Run models on the dataset in a folder, one pass per geometry, and write their outputs."""
        built = read_description(folder)["name"]
        if name != built:
            remedy = "Give the name it was built with, or build it again"
            raise InputError(f"is of '{built}', not of '{name}'", file=folder, remedy=remedy)
        dataset, problems = read_dataset(folder, verify=False), ErrorCollector()
        groups: dict[Geometry, list[tuple[Task, LoadedModel, ForwardModel]]] = {}
        for task in tasks:
            with problems.collected():
                loaded, model = self._load(task.model, dataset)
                groups.setdefault(loaded.transform.geometry, []).append((task, loaded, model))
        with ThreadPoolExecutor(1, thread_name_prefix="verify") as verifier:
            verified = verifier.submit(read_dataset, folder)
            for geometry, group in groups.items():
                with problems.collected():
                    passes = [
                        (model, self._writers(task, loaded, dataset))
                        for task, loaded, model in group
                    ]
                    reader = open_reader(dataset, geometry, self._config.n_threads)
                    run_inference(
                        passes, reader, dataset, self._config, progress=self._progress,
                        before_files=verified.result,
                    )  # fmt: skip
        problems.raise_any()

    def run_rotated(self, model: ModelFiles, dataset: Dataset, writer: Writer) -> None:
        """Run a model on every image of a dataset in four orientations."""
        loaded, forward = self._load(model, dataset)
        reader = open_reader(dataset, loaded.transform.geometry, self._config.n_threads)
        rotated = replace(dataset, labels=np.repeat(dataset.labels, readers.ORIENTATIONS))
        source = readers.RotatedReader(reader, dataset.name)
        passes = [(forward, [writer])]
        run_inference(passes, source, rotated, self._config, progress=self._progress)

    def _load(self, files: ModelFiles, dataset: Dataset) -> tuple[LoadedModel, ForwardModel]:
        """Return a loaded model; load it again only for a dataset with other images or classes."""
        name, requirements = files.source.name, [dataset.n_classes, dataset.classes]
        if files.source.kind not in PUBLISHED:  # these accept images of all sizes
            requirements += [dataset.stored, stored_shape(dataset), dataset.max_value]
        if name not in self._loaded or self._loaded[name][0] != requirements:
            self._loaded.pop(name, None)
            loaded = load_model(files.source, files.weights, dataset, self._config.device)
            model = ForwardModel(name, loaded.module, loaded.transform, self._config)
            self._loaded[name] = requirements, loaded, model
        return self._loaded[name][1:]

    def _writers(self, task: Task, loaded: LoadedModel, dataset: Dataset) -> list[Writer]:
        metadata = provenance(task.model.source, loaded, dataset, self._config)
        return build_writers(task.files, {**metadata, INPUTS_KEY: task.inputs}, self._config.n_top)


def provenance(
    model: ModelSource, loaded: LoadedModel, dataset: Dataset, config: InferenceConfig
) -> dict[str, str]:
    """Describe how an output was computed; without dates, so that files are reproducible."""
    resized = loaded.transform.geometry.resize != "none"
    packages = ["numpy", "torch"]
    packages += [package_name(model.kind)] if model.kind in PUBLISHED else []
    packages += ["pillow"] if resized else []
    return {
        "model": model.name,
        "model_source": loaded.description,
        "dataset": dataset.name,
        "n_classes": str(dataset.n_classes),
        "weights_sha256": loaded.weights_sha256,
        "dataset_sha256": dataset.sha256,
        "transform": loaded.transform.text(255 if resized else dataset.max_value),
        "dtype": DTYPE_TEXT[config.precision],
        "device": config.device,
        "compiled": str(config.compile).lower(),
        "inference_version": str(INFERENCE_VERSION),
        **software_versions(*packages),
    }


def open_reader(dataset: Dataset, geometry: Geometry, n_threads: int) -> readers.Reader:
    """Return a reader of a dataset's images, resized and cropped; all readers give equal pixels."""
    was_cropped = dataset.provenance.get("recipe", {}).get("side") is not None
    if was_cropped and dataset.image_shape[:2] == geometry.crop:  # before they were corrupted
        geometry = Geometry()
    if dataset.stored == "made":
        return readers.MakingReader(dataset, geometry, n_threads)
    if geometry.resize == "none" and dataset.stored == "array":
        return readers.ArrayReader(dataset)
    return readers.DecodingReader(dataset, geometry, n_threads)
