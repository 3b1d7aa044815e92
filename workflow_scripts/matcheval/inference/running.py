"""From files to files: what the door `predict_dataset` opens."""

from collections.abc import Mapping
from pathlib import Path

import torch

from matcheval.datasets.folders import Dataset, read_dataset
from matcheval.errors import InputError
from matcheval.inference import INFERENCE_VERSION
from matcheval.inference.devices import resolve_device
from matcheval.inference.forward import run_inference
from matcheval.inference.outputs import make_sinks
from matcheval.models.arithmetic import transform_text
from matcheval.models.checkpoints import Checkpoint, load_checkpoint, weights_digest
from matcheval.provenance import software_versions


def predict_to_files(
    model: str,
    checkpoint_file: Path,
    dataset_name: str,
    dataset_folder: Path,
    files: Mapping[str, Path],
    *,
    batch_size: int,
    device: str,
    n_threads: int = 1,
    progress: bool = False,
) -> None:
    """Run a checkpoint on a dataset and write the wanted outputs.

    Parameters
    ----------
    model, dataset_name : str
        Names that checkpoint and dataset must have.
    checkpoint_file, dataset_folder : Path
        What to read.
    files : mapping
        Where each output goes (see `outputs.make_sinks`).
    batch_size, n_threads, progress
        As for `run_inference`.
    device : str
        As for `resolve_device`.

    Raises
    ------
    InputError
        If an input is unsound, is not of the given name, or the two do not go together.
    """
    checkpoint = load_checkpoint(checkpoint_file)
    dataset = read_dataset(dataset_folder)
    _check_names(model, checkpoint, checkpoint_file, dataset_name, dataset, dataset_folder)
    _check_fit(checkpoint, dataset)
    place = resolve_device(device)
    run_inference(
        checkpoint.build(),
        dataset,
        model_name=model,
        batch_size=batch_size,
        device=place,
        sinks=make_sinks(files, provenance(checkpoint, dataset, place)),
        n_threads=n_threads,
        progress=progress,
    )


def provenance(checkpoint: Checkpoint, dataset: Dataset, device: torch.device) -> dict[str, str]:
    """What made an output, as a file's key-value text: no times, so that files repeat."""
    return {
        "model": checkpoint.info.model,
        "dataset": dataset.name,
        "n_classes": str(dataset.n_classes),
        "weights_sha256": weights_digest(checkpoint),
        "dataset_sha256": dataset.sha256,
        "transform": transform_text(dataset.max_value),
        "dtype": "float32",
        "device": device.type,
        "inference_version": str(INFERENCE_VERSION),
        **software_versions("numpy", "torch"),
    }


def _check_names(
    model: str,
    checkpoint: Checkpoint,
    checkpoint_file: Path,
    dataset_name: str,
    dataset: Dataset,
    dataset_folder: Path,
) -> None:
    for wanted, found, file in (
        (model, checkpoint.info.model, checkpoint_file),
        (dataset_name, dataset.name, dataset_folder),
    ):
        if wanted != found:
            raise InputError(
                f"is of '{found}', not of '{wanted}'",
                file=file,
                remedy="Give the name it was made with, or make it again",
            )


def _check_fit(checkpoint: Checkpoint, dataset: Dataset) -> None:
    info = checkpoint.info
    for what, needed, found in (
        ("image shape", info.input_shape, dataset.image_shape),
        ("number of classes", info.n_classes, dataset.n_classes),
    ):
        if needed != found:
            raise InputError(
                f"{what} is {found}, but model {info.model} takes {needed}",
                file=dataset.name,
                remedy="Pair the model with a dataset of the kind it was trained on",
            )
