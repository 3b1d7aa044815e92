"""The forward pass: each batch goes through the model once and to every sink."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from tqdm import tqdm

from matcheval.datasets.folders import Dataset
from matcheval.errors import InputError
from matcheval.models.arithmetic import repeatable_arithmetic, to_input


@dataclass(frozen=True, eq=False)
class ForwardBatch:
    """What a model says of consecutive datapoints.

    A further output of the pass (features, say) is a further field, filled by `run_inference`.

    Attributes
    ----------
    start : int
        Index of the first datapoint.
    labels : int16 array, shape (n,)
        True classes.
    logits : float32 array, shape (n, n_classes)
        Finite scores.
    """

    start: int
    labels: npt.NDArray[np.int16]
    logits: npt.NDArray[np.float32]


class Sink(Protocol):
    """Something that keeps a part of a forward pass."""

    def update(self, batch: ForwardBatch) -> None:
        """Take the next batch; batches come in dataset order, each once."""

    def finish(self) -> None:
        """Write the file; called once, after the last batch."""


def run_inference(
    model: nn.Module,
    dataset: Dataset,
    *,
    model_name: str,
    batch_size: int,
    device: torch.device,
    sinks: Sequence[Sink],
    n_threads: int = 1,
    progress: bool = False,
) -> None:
    """Pass a dataset through a model once, and feed all sinks.

    Parameters
    ----------
    model : torch.nn.Module
        Takes float32 NCHW images in [0, 1], gives logits (n, n_classes); it is moved to
        `device` and put in evaluation mode.
    dataset : Dataset
        Images, perhaps mapped from their file: only a batch at a time is loaded.
    model_name : str
        For messages.
    batch_size : int
        Images at a time, at least 1; it may change the last bits of the logits.
    device : torch.device
        Where to compute, in float32.
    sinks : sequence of Sink
        What is kept. Nothing is written unless the whole pass succeeds.
    n_threads : int
        CPU threads.
    progress : bool
        Whether to draw a progress bar.

    Raises
    ------
    InputError
        If `batch_size` is below 1, or a logit is not finite.
    """
    if batch_size < 1:
        raise InputError(f"is {batch_size}", field="batch_size", remedy="Give at least 1")
    model.to(device).eval()
    starts = range(0, len(dataset), batch_size)
    title = f"{model_name} on {dataset.name}"
    with repeatable_arithmetic(n_threads), torch.inference_mode():
        for start in tqdm(starts, desc=title, unit="batch", disable=not progress):
            rows = slice(start, start + batch_size)
            images = to_input(dataset.pixels[rows], dataset.max_value).to(device)
            logits = model(images).float().cpu().numpy()
            _check_logits(logits, start, model_name, dataset)
            batch = ForwardBatch(start, dataset.labels[rows], logits)
            for sink in sinks:
                sink.update(batch)
    for sink in sinks:
        sink.finish()


def _check_logits(
    logits: npt.NDArray[np.float32], start: int, model_name: str, dataset: Dataset
) -> None:
    if logits.ndim != 2 or logits.shape[1] != dataset.n_classes:
        raise InputError(
            f"logits of shape {logits.shape} for the {dataset.n_classes} classes of {dataset.name}",
            file=model_name,
            remedy="Use a model trained on these classes",
        )
    bad = ~np.isfinite(logits).all(axis=1)
    if bad.any():
        raise InputError(
            f"logits of datapoint {start + int(bad.argmax())} of {dataset.name} are not finite",
            file=model_name,
            remedy="Train the model again, with a lower learning rate",
        )
