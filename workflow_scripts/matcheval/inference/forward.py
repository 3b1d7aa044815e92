"""The forward pass: each batch goes through the model once and to every sink."""

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

from matcheval.datasets.folders import Dataset
from matcheval.errors import InputError
from matcheval.inference import AUTOMATIC
from matcheval.inference.batches import ForwardBatch, Sink
from matcheval.inference.feeding import feed
from matcheval.inference.networks import Network, as_network
from matcheval.inference.precision import arithmetic, check_precision
from matcheval.inference.readers import Reader
from matcheval.models.arithmetic import normalize
from matcheval.models.devices import full_memory, is_out_of_memory
from matcheval.models.transforms import Transform

log = logging.getLogger(__name__)

# Pixels of a batch of automatic size, and its largest number of images: large enough to keep the
# device busy, small enough for the activations of most models.
_BATCH_PIXELS = {"cpu": 64 * 224**2, "mps": 128 * 224**2, "cuda": 512 * 224**2}
_MOST_IMAGES = {"cpu": 256, "mps": 512, "cuda": 2048}

# From this size of images on, channels-last convolutions are the faster ones on a CPU as well.
_CHANNELS_LAST_FROM = 64


@dataclass(frozen=True)
class Settings:
    """How to compute; none of it is meant to change a prediction, and precision may.

    Attributes
    ----------
    device : torch.device
        Where.
    batch_size : int or `auto`
        Images at a time, at least 1; it may change the last bits of the logits.
    n_threads : int
        CPU threads of the model; as many again decode images.
    precision : str
        One of `inference.PRECISIONS`. Logits are kept, and the softmax is taken, in float32.
    compile : bool
        Whether `torch.compile` prepares the model: minutes at first, less per batch after.
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
        """Return the batch size for images of a size: the one that is set, or a suitable one."""
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
    settings: Settings,
    sinks: Sequence[Sink],
    progress: bool = False,
) -> None:
    """Pass a dataset through a model once, and feed all sinks.

    Parameters
    ----------
    model : torch.nn.Module
        Takes normalised float32 NCHW images, gives logits (n, n_classes); it is moved to the
        device and put in evaluation mode.
    reader : Reader
        The dataset's images, their geometry that of `transform`. However many there are, only
        a few batches are in memory.
    transform : Transform
        Its normalisation is done on the device.
    dataset : Dataset
        Labels and classes.
    model_name : str
        For messages.
    settings : Settings
        Where and how to compute. If the memory of a GPU does not suffice, batches are halved
        and the pass goes on.
    sinks : sequence of Sink
        What is kept. Nothing is written unless the whole pass succeeds.
    progress : bool
        Whether to draw a progress bar.

    Raises
    ------
    InputError
        If a logit is not finite, logits are not of the dataset's classes, an image cannot be
        read, or a single one exceeds the device's memory.
    """
    forward = _Pass(model, transform, dataset, model_name, settings, sinks)
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
                    for sink in sinks:
                        sink.update(batch)
                    bar.update(len(batch.labels))
        for sink in sinks:
            sink.finish()
    except BaseException:
        for sink in sinks:
            sink.discard()
        raise


class _Pass:
    """One model on its device, and how its batches are computed."""

    def __init__(
        self,
        model: nn.Module,
        transform: Transform,
        dataset: Dataset,
        model_name: str,
        settings: Settings,
        sinks: Sequence[Sink],
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
        wanted = any(sink.needs_features for sink in sinks)
        network = as_network(self._model, features=wanted, name=model_name)
        self._network: Network = torch.compile(network) if settings.compile else network
        self._size: int | None = None  # images at a time, once memory ran out
        self._channels_last: bool | None = None

    def results(self, batches: Iterator[tuple[int, Tensor]]) -> Iterator[ForwardBatch]:
        """Compute batches; on a GPU, the next one is under way when one is given."""
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
        """Compute a batch, in parts if it is too large for the memory."""
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
        # A view of channels-last memory, which the cast keeps.
        images = pixels.permute(0, 3, 1, 2).to(torch.float32)
        if self._channels_last is None:
            self._choose_memory_format(images)
        if not self._channels_last:
            images = images.contiguous()
        # A tensor, not a number: by a number, CUDA multiplies with the inverse and rounds twice.
        images = images.div_(images.new_tensor(float(self._largest)))
        return normalize(images, self._transform.mean, self._transform.std)

    def _choose_memory_format(self, images: Tensor) -> None:
        large = min(images.shape[2:]) >= _CHANNELS_LAST_FROM
        self._channels_last = images.shape[1] > 1 and (large or self._device.type == "cuda")
        if self._channels_last:
            self._model.to(memory_format=torch.channels_last)

    def _shrink(self, size: int, row: int, why: str) -> None:
        """Halve the batches, after one of `size` images did not fit in memory."""
        if size == 1:
            raise InputError(
                f"image {row} of {self._dataset.name} alone exceeds the memory of the "
                f"{self._device.type} device ({why})",
                file=self._name,
                remedy="Use precision bf16, a device with more memory, or the CPU",
            )
        self._size = size // 2
        log.warning(
            "%s: out of memory at %d images, going on with %d", self._name, size, self._size
        )
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _to_host(self, tensors: list[Tensor | None]) -> tuple[list[Any], Any]:
        """Arrays of tensors and the CUDA event that they are valid from, None for at once."""
        if self._device.type != "cuda":
            return [None if t is None else t.cpu().numpy() for t in tensors], None
        arrays: list[Any] = []
        for tensor in tensors:
            if tensor is None:
                arrays.append(None)
                continue
            host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            arrays.append(host.copy_(tensor, non_blocking=True).numpy())
        cuda: Any = torch.cuda  # not all of it is typed
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
                remedy="Use a model trained on these classes",
            )
        bad = ~np.isfinite(logits).all(axis=1)
        if bad.any():
            raise InputError(
                f"logits of datapoint {start + int(bad.argmax())} of {dataset.name} are not finite",
                file=name,
                remedy="Compute in fp32 if another precision is set; else the weights are at "
                "fault, and a model of one's own is to be trained with a lower learning rate",
            )
