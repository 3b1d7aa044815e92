"""The forward pass: each batch goes through the model once, and its results to every writer."""

import logging
import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from tqdm import tqdm

from matcheval.datasets.dataset import Dataset
from matcheval.errors import InputError
from matcheval.inference import AUTOMATIC
from matcheval.inference.batches import ForwardBatch, Writer
from matcheval.inference.feeding import feed
from matcheval.inference.networks import Network, as_network
from matcheval.inference.precision import arithmetic, check_precision
from matcheval.inference.readers import Reader
from matcheval.models.arithmetic import normalize
from matcheval.models.devices import full_memory, is_out_of_memory
from matcheval.models.transforms import Transform

log = logging.getLogger(__name__)

# Pixels of a batch of automatic size, and its maximum number of images: large enough to keep the
# device busy, small enough for the activations of most models.
_BATCH_PIXELS = {"cpu": 64 * 224**2, "mps": 128 * 224**2, "cuda": 512 * 224**2}
_MOST_IMAGES = {"cpu": 256, "mps": 512, "cuda": 2048}

# From this image size on, channels-last convolutions are faster on a CPU, too.
_CHANNELS_LAST_FROM = 64


@dataclass(frozen=True)
class ForwardConfig:
    """How a forward pass is computed; apart from `precision`, no setting should affect predictions.

    Attributes
    ----------
    device : torch.device
        Device of the model.
    batch_size : int or `auto`
        Images per batch, at least 1; it may change the last bits of the logits.
    n_threads : int
        CPU threads of the model; equally many further threads decode images.
    precision : str
        One of `inference.PRECISIONS`. Logits are stored, and the softmax computed, in float32.
    compile : bool
        Whether to compile the model by `torch.compile`, which takes minutes at first and makes
        later batches faster.

    Raises
    ------
    InputError
        If the precision is unknown or not supported by the device, or the batch size is not valid.
    """

    device: torch.device
    batch_size: int | str = AUTOMATIC
    n_threads: int = 1
    precision: str = "fp32"
    compile: bool = False

    def __post_init__(self) -> None:
        check_precision(self.precision, self.device)
        size = self.batch_size
        if size != AUTOMATIC and (not isinstance(size, int) or size < 1):
            raise InputError(f"is {size}", field="batch_size", remedy="Give at least 1, or auto")

    def images_at_a_time(self, height: int, width: int) -> int:
        """Return the batch size for images of a given size: the configured or the automatic one.

        Parameters
        ----------
        height, width : int
            Size of the images in pixels.
        """
        if isinstance(self.batch_size, int):
            return self.batch_size
        kind = self.device.type
        size = 1 << max(0, int(math.log2(_BATCH_PIXELS[kind] / (height * width))))
        return min(size, _MOST_IMAGES[kind])


def run_inference(
    model: nn.Module,
    reader: Reader,
    transform: Transform,
    dataset: Dataset,
    *,
    model_name: str,
    settings: ForwardConfig,
    writers: Sequence[Writer],
    progress: bool = False,
) -> None:
    """Pass a dataset through a model once, and hand the results to all writers.

    Parameters
    ----------
    model : torch.nn.Module
        Maps normalised float32 NCHW images to logits (n, n_classes); it is moved to the device
        and set to evaluation mode.
    reader : Reader
        The dataset's images, with the geometry of `transform`. Only a few batches are in memory
        at a time.
    transform : Transform
        Its normalisation is computed on the device.
    dataset : Dataset
        Labels and classes.
    model_name : str
        Name of the model, for messages.
    settings : ForwardConfig
        Device, batch size and precision. When a device runs out of memory, the batch size is
        halved and the pass continues.
    writers : sequence of Writer
        Receive the results. No file is left behind unless the whole pass succeeds.
    progress : bool
        Whether to draw a progress bar.

    Raises
    ------
    InputError
        If a logit is not finite, the number of logits differs from the dataset's number of
        classes, an image cannot be read, or the model or a single image exceeds the device's
        memory.
    """
    forward = _Pass(model, transform, dataset, model_name, settings, writers)
    batch_size = settings.images_at_a_time(*reader.shape[:2])
    bar = tqdm(
        total=len(dataset), desc=f"{model_name} on {dataset.name}", unit="image",
        disable=not progress,
    )  # fmt: skip
    try:
        with bar, arithmetic(settings.precision, settings.device, settings.n_threads):
            batches = feed(reader, len(dataset), batch_size, settings.device)
            with torch.inference_mode():
                for batch in forward.results(batches):
                    for writer in writers:
                        writer.update(batch)
                    bar.update(len(batch.labels))
        for writer in writers:
            writer.finish()
    except BaseException:
        for writer in writers:
            writer.discard()
        raise


class _Pass:
    """A model on its device, and the computation of its batches."""

    def __init__(
        self,
        model: nn.Module,
        transform: Transform,
        dataset: Dataset,
        model_name: str,
        settings: ForwardConfig,
        writers: Sequence[Writer],
    ) -> None:
        self._transform, self._dataset, self._name = transform, dataset, model_name
        self._device = settings.device
        self._largest = 255 if transform.geometry.resize != "none" else dataset.max_value
        with full_memory(
            f"its weights do not fit in the memory of the {settings.device.type} device",
            file=model_name,
            remedy="Use a device with more memory, or free it of other processes",
        ):
            self._model = model.to(settings.device).eval()
        features = any(writer.needs_features for writer in writers)
        network = as_network(self._model, features=features, name=model_name)
        self._network: Network = torch.compile(network) if settings.compile else network
        self._size: int | None = None  # reduced batch size, once memory has run out
        self._channels_last: bool | None = None

    def results(self, batches: Iterator[tuple[int, Tensor]]) -> Iterator[ForwardBatch]:
        """Yield the results of each batch; on a GPU, the next one is already being computed."""
        waiting: deque[tuple[ForwardBatch, Any]] = deque()
        for start, pixels in batches:
            for offset, logits, features in self._parts(pixels, start):
                rows = slice(start + offset, start + offset + len(logits))
                tensors = [logits.float(), features.float() if features is not None else None]
                arrays, event = self._to_host(tensors)
                batch = ForwardBatch(rows.start, self._dataset.labels[rows], *arrays)
                waiting.append((batch, event))
            while waiting and (waiting[0][1] is None or len(waiting) > 1):
                yield self._finished(*waiting.popleft())
        while waiting:
            yield self._finished(*waiting.popleft())

    def _parts(self, pixels: Tensor, start: int) -> Iterator[tuple[int, Tensor, Tensor | None]]:
        """Compute a batch, in parts if it does not fit in memory as a whole.

        Yields the offset of each part in the batch, its logits and its features.
        """
        done = 0
        while done < len(pixels):
            size = min(self._size or len(pixels), len(pixels) - done)
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
        return normalize(images, self._transform.mean, self._transform.std)

    def _choose_memory_format(self, images: Tensor) -> None:
        large = min(images.shape[2:]) >= _CHANNELS_LAST_FROM
        self._channels_last = images.shape[1] > 1 and (large or self._device.type == "cuda")
        if self._channels_last:
            self._model.to(memory_format=torch.channels_last)

    def _shrink(self, size: int, row: int, why: str) -> None:
        """Halve the batch size after a batch of `size` images did not fit in memory."""
        if size == 1:
            raise InputError(
                f"image {row} of {self._dataset.name} alone exceeds the memory of the "
                f"{self._device.type} device ({why})",
                file=self._name,
                remedy="Use precision bf16, a device with more memory, or the CPU",
            )
        self._size = size // 2
        log.warning(
            "%s: out of memory with %d images, continuing with %d", self._name, size, self._size
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
        bad = ~np.isfinite(logits).all(axis=1)
        if bad.any():
            raise InputError(
                f"logits of datapoint {start + int(bad.argmax())} of {dataset.name} are not finite",
                file=name,
                remedy="Set the precision to fp32 if it is another; otherwise the weights are at "
                "fault: train the model with a lower learning rate if it is your own",
            )
