"""One pass of a model over a dataset: batch by batch, with the results handed to writers."""

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from matcheval.datasets.dataset import Dataset
from matcheval.errors import InputError
from matcheval.inference.batches import ForwardBatch, Writer
from matcheval.inference.forward_model import ForwardModel
from matcheval.models.arithmetic import normalize
from matcheval.models.devices import is_out_of_memory
from matcheval.predictions.files import are_softmaxed

log = logging.getLogger(__name__)

# From this image size on, channels-last convolutions are faster on a CPU, too
# (benchmarks/memory_format.py).
_CHANNELS_LAST_FROM = 32


class ModelPass:
    """One pass of a model over a dataset."""

    def __init__(self, model: ForwardModel, dataset: Dataset, writers: Sequence[Writer]) -> None:
        self._model, self._dataset, self._writers = model, dataset, writers
        self._name, self._device = model.name, model.device
        self._largest = 255 if model.transform.geometry.resize != "none" else dataset.max_value
        self._network = model.network(features=any(writer.needs_features for writer in writers))
        self._waiting: deque[tuple[ForwardBatch, Any]] = deque()
        self._channels_last: bool | None = None

    def update(self, start: int, pixels: Tensor) -> None:
        """Compute a batch; on a GPU, it is still computed while the previous one is written."""
        for offset, logits, features in self._parts(pixels, start):
            rows = slice(start + offset, start + offset + len(logits))
            tensors = [logits.float(), features.float() if features is not None else None]
            arrays, event = self._to_host(tensors)
            batch = ForwardBatch(rows.start, self._dataset.labels[rows], *arrays)
            self._waiting.append((batch, event))
        while self._waiting and (self._waiting[0][1] is None or len(self._waiting) > 1):
            self._write_first()

    def finish(self) -> None:
        """Write the results that are left, and the files."""
        while self._waiting:
            self._write_first()
        for writer in self._writers:
            writer.finish()

    def discard(self) -> None:
        """Remove what has been written so far."""
        for writer in self._writers:
            writer.discard()

    def _write_first(self) -> None:
        batch = self._finished(*self._waiting.popleft())
        for writer in self._writers:
            writer.update(batch)

    def _parts(self, pixels: Tensor, start: int) -> Iterator[tuple[int, Tensor, Tensor | None]]:
        """Compute a batch, in parts if it does not fit in memory as a whole."""
        done = 0
        while done < len(pixels):
            size = min(self._model.batch_size or len(pixels), len(pixels) - done)
            try:
                logits, features = self._network(self._input(pixels[done : done + size]))
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                self._shrink(size, start + done, str(error).splitlines()[0])
                continue
            yield done, logits, features
            done += size

    def _input(self, pixels: Tensor) -> Tensor:
        """Normalise pixels (n, height, width, channels) to float32 images on the device."""
        # A view in channels-last memory format, which the cast preserves.
        images = pixels.permute(0, 3, 1, 2).to(torch.float32)
        if self._channels_last is None:
            self._choose_memory_format(images)
        if not self._channels_last:
            images = images.contiguous()
        # A tensor rather than a number: CUDA implements division by a number as multiplication by
        # its inverse, which rounds twice.
        images = images.div_(images.new_tensor(float(self._largest)))
        transform = self._model.transform
        return normalize(images, transform.mean, transform.std)

    def _choose_memory_format(self, images: Tensor) -> None:
        large = min(images.shape[2:]) >= _CHANNELS_LAST_FROM
        self._channels_last = images.shape[1] > 1 and (large or self._device.type == "cuda")
        layout = torch.channels_last if self._channels_last else torch.contiguous_format
        self._model.module.to(memory_format=layout)

    def _shrink(self, size: int, row: int, why: str) -> None:
        """Halve the batch size after a batch of `size` images did not fit in memory."""
        if size == 1:
            raise InputError(
                f"image {row} of {self._dataset.name} alone exceeds the memory of the "
                f"{self._device.type} device ({why})",
                file=self._name,
                remedy="Use precision bf16, a device with more memory, or the CPU",
            )
        self._model.batch_size = size // 2
        log.warning(
            "%s: out of memory with %d images, continuing with %d", self._name, size, size // 2
        )
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _to_host(self, tensors: list[Tensor | None]) -> tuple[list[Any], Any]:
        """Copy tensors to arrays; they are valid once the CUDA event, if any, has occurred."""
        if self._device.type != "cuda":
            return [None if t is None else t.cpu().numpy() for t in tensors], None
        arrays: list[Any] = []
        for tensor in tensors:
            if tensor is None:
                arrays.append(None)
                continue
            host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            arrays.append(host.copy_(tensor, non_blocking=True).numpy())
        cuda: Any = torch.cuda  # not fully typed
        event = cuda.Event()
        event.record()
        return arrays, event

    def _finished(self, batch: ForwardBatch, event: Any) -> ForwardBatch:
        if event is not None:
            event.synchronize()
        self._check_logits(batch.logits, batch.start)
        return replace(batch, labels=np.array(batch.labels))

    def _check_logits(self, logits: npt.NDArray[np.float32], start: int) -> None:
        name, dataset = self._name, self._dataset
        if logits.ndim != 2 or logits.shape[1] != dataset.n_classes:
            raise InputError(
                f"logits of shape {logits.shape} for the {dataset.n_classes} classes of "
                f"{dataset.name}",
                file=name,
                remedy="Use a model that was trained on these classes",
            )
        if are_softmaxed(logits):
            raise InputError(
                f"its outputs on {dataset.name} all lie in [0, 1] and sum to 1, as after a softmax",
                file=name,
                remedy="Return logits; where only probabilities are known, their logarithm",
            )
        bad = ~np.isfinite(logits).all(axis=1)
        if bad.any():
            raise InputError(
                f"logits of datapoint {start + int(bad.argmax())} of {dataset.name} are not finite",
                file=name,
                remedy="Set the precision to fp32 if it is another; otherwise the weights are at "
                "fault: train the model with a lower learning rate if it is your own",
            )
