"""The forward pass: each batch goes through every model once, and the results to its writers."""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from tqdm import tqdm

from matcheval.datasets.dataset import Dataset
from matcheval.errors import ErrorCollector, InputError
from matcheval.inference.outputs import ForwardBatch, Writer
from matcheval.inference.readers import Reader, read_batches
from matcheval.inference.settings import InferenceConfig
from matcheval.models import devices
from matcheval.models.networks import Network, as_network
from matcheval.models.transforms import Transform
from matcheval.predictions.scores import are_softmaxed

log = logging.getLogger(__name__)
Result = TypeVar("Result")

_AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}

DTYPE_TEXT = {
    "fp32": "float32",
    "tf32": "float32, products in tf32",
    "bf16": "float32, autocast to bfloat16",
    "fp16": "float32, autocast to float16",
}


def resolved(config: InferenceConfig) -> InferenceConfig:
    """Return settings with a device in place of `auto`; refuse one without the precision."""
    device = devices.resolve_device(config.device)
    devices.check_precision(device, config.precision)
    return replace(config, device=device.type)


@contextmanager
def arithmetic(config: InferenceConfig) -> Iterator[None]:
    """Make torch compute reproducibly, and in the set precision, within the block."""
    precision, device = config.precision, config.device
    before = torch.get_float32_matmul_precision()
    with ExitStack() as stack:
        # Some layers have no deterministic implementation on a GPU; torch only warns there.
        stack.enter_context(devices.repeatable_arithmetic(config.n_threads, strict=device == "cpu"))
        stack.callback(torch.set_float32_matmul_precision, before)
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        if precision == "tf32":
            flags = {"enabled": True, "benchmark": False, "deterministic": True}
            stack.enter_context(torch.backends.cudnn.flags(**flags, allow_tf32=True))
        elif precision in _AUTOCAST:
            stack.enter_context(torch.autocast(device, dtype=_AUTOCAST[precision]))
        yield


class ForwardModel:
    """A model on its device; it may run over several datasets, one after the other."""

    def __init__(
        self, name: str, module: nn.Module, transform: Transform, config: InferenceConfig
    ) -> None:
        self.name, self.transform = name, transform
        self.device = torch.device(config.device)
        self.batch_size: int | None = None  # reduced batch size, once memory has run out
        self._compile = config.compile
        self._networks: dict[bool, Network] = {}
        with devices.full_memory(
            f"its weights do not fit in the memory of the {config.device} device",
            file=name,
            remedy="Use a device with more memory, or free it of other processes",
        ):
            self.module = module.to(self.device).eval()

    def network(self, *, features: bool) -> Network:
        """Return a function from images to logits and, if asked, features; compiled if set so."""
        if features not in self._networks:
            network = as_network(self.module, features=features, name=self.name)
            self._networks[features] = torch.compile(network) if self._compile else network
        return self._networks[features]

    def in_parts(
        self, n: int, compute: Callable[[int, int], Result], first: int, dataset: str
    ) -> Iterator[tuple[int, Result]]:
        """Yield starts and results of n rows, in parts if they do not fit in memory together.

        `compute` takes the start and end of a part. For messages, the rows are images of a dataset
        from the `first` on.
        """
        done = 0
        while done < n:
            size = min(self.batch_size or n, n - done)
            try:
                result = compute(done, done + size)
            except RuntimeError as error:
                if not devices.is_out_of_memory(error):
                    raise
                image = f"image {first + done} of {dataset}"
                self._halve_batch_size(size, image, str(error).splitlines()[0])
                continue
            yield done, result
            done += size

    def _halve_batch_size(self, size: int, image: str, why: str) -> None:
        """Halve the batch size after a batch of `size` images did not fit in memory."""
        if size == 1:
            where = f"the memory of the {self.device.type} device ({why})"
            remedy = "Use precision bf16, a device with more memory, or the CPU"
            raise InputError(f"{image} alone exceeds {where}", file=self.name, remedy=remedy)
        self.batch_size = size // 2
        log.warning(
            "%s: out of memory with %d images, continuing with %d", self.name, size, size // 2
        )
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


# From this image size on, channels-last convolutions are faster on a CPU, too: 1.5 to 2.4 times for
# CIFAR networks in batches of 64.
_CHANNELS_LAST_FROM = 32


class ModelPass:
    """One pass of a model over a dataset, whose results go to writers."""

    def __init__(self, model: ForwardModel, dataset: Dataset, writers: Sequence[Writer]) -> None:
        self._model, self._dataset, self._writers = model, dataset, writers
        self._name, self._device = model.name, model.device
        self._largest = 255 if model.transform.geometry.resize != "none" else dataset.max_value
        self._network = model.network(features=any(writer.needs_features for writer in writers))
        self._waiting: deque[tuple[ForwardBatch, Any]] = deque()
        self._channels_last: bool | None = None

    def update(self, start: int, pixels: Tensor) -> None:
        """Compute a batch, and write its results or, on a GPU, those of the batch before."""
        parts = self._model.in_parts(
            len(pixels), lambda begin, end: self._network(self._images(pixels[begin:end])), start,
            self._dataset.name,
        )  # fmt: skip
        for offset, (logits, features) in parts:
            rows = slice(start + offset, start + offset + len(logits))
            tensors = [logits.float(), features.float() if features is not None else None]
            arrays, event = self._copy_to_host(tensors)
            batch = ForwardBatch(rows.start, self._dataset.labels[rows], *arrays)
            self._waiting.append((batch, event))
        while self._waiting and (self._waiting[0][1] is None or len(self._waiting) > 1):
            self._write_oldest()

    def finish(self) -> None:
        """Hand the remaining results to the writers, and finish their files."""
        while self._waiting:
            self._write_oldest()
        for writer in self._writers:
            writer.finish()

    def discard(self) -> None:
        """Remove what the writers have written so far."""
        for writer in self._writers:
            writer.discard()

    def _write_oldest(self) -> None:
        """Check the oldest waiting batch, and hand it to the writers."""
        batch, event = self._waiting.popleft()
        if event is not None:
            event.synchronize()
        self._check_logits(batch.logits, batch.start)
        batch = replace(batch, labels=np.array(batch.labels))
        for writer in self._writers:
            writer.update(batch)

    def _images(self, pixels: Tensor) -> Tensor:
        """Convert pixels (n, height, width, channels) to normalised float32 images."""
        # A view in channels-last memory format, which the cast preserves.
        images = pixels.permute(0, 3, 1, 2).to(torch.float32)
        if self._channels_last is None:
            large = min(images.shape[2:]) >= _CHANNELS_LAST_FROM
            self._channels_last = images.shape[1] > 1 and (large or self._device.type == "cuda")
            layout = torch.channels_last if self._channels_last else torch.contiguous_format
            self._model.module.to(memory_format=layout)
        if not self._channels_last:
            images = images.contiguous()
        # A tensor rather than a number: CUDA implements division by a number as multiplication by
        # its inverse, which rounds twice.
        images = images.div_(images.new_tensor(float(self._largest)))
        transform = self._model.transform
        return devices.normalize(images, transform.mean, transform.std)

    def _copy_to_host(self, tensors: list[Tensor | None]) -> tuple[list[Any], Any]:
        """Copy tensors to arrays, which are valid once the returned CUDA event, if any, occurs."""
        if self._device.type != "cuda":
            return [None if t is None else t.cpu().numpy() for t in tensors], None
        arrays: list[Any] = [None] * len(tensors)
        for i, tensor in enumerate(tensors):
            if tensor is not None:
                pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
                arrays[i] = pinned.copy_(tensor, non_blocking=True).numpy()
        cuda: Any = torch.cuda  # not fully typed
        event = cuda.Event()
        event.record()
        return arrays, event

    def _check_logits(self, logits: npt.NDArray[np.float32], start: int) -> None:
        """Raise an error if logits have a wrong shape, are after a softmax, or are not finite."""
        name, n = self._dataset.name, self._dataset.n_classes
        if logits.ndim != 2 or logits.shape[1] != n:
            problem = f"logits of shape {logits.shape} for the {n} classes of {name}"
            remedy = "Use a model that was trained on these classes"
        elif are_softmaxed(logits):
            problem = f"its outputs on {name} all lie in [0, 1] and sum to 1, as after a softmax"
            remedy = "Return logits; where only probabilities are known, their logarithm"
        elif not (finite := np.isfinite(logits).all(axis=1)).all():
            row = start + int(finite.argmin())
            problem = f"logits of datapoint {row} of {name} are not finite"
            remedy = (
                "Set the precision to fp32 if it is another; otherwise the weights are at fault: "
                "train the model with a lower learning rate if it is your own"
            )
        else:
            return
        raise InputError(problem, file=self._name, remedy=remedy)


def run_inference(
    tasks: Sequence[tuple[ForwardModel, Sequence[Writer]]],
    reader: Reader,
    dataset: Dataset,
    config: InferenceConfig,
    *,
    progress: bool = False,
    before_files: Callable[[], object] = lambda: None,
) -> None:
    """Pass a dataset once through one or several models, and hand the results to their writers."""
    problems = ErrorCollector()
    batch_size = config.images_at_a_time(*reader.shape[:2])
    about = f"{', '.join(model.name for model, _ in tasks)} on {dataset.name}"
    bar = tqdm(total=len(dataset), desc=about, unit="image", disable=not progress)
    passes: list[ModelPass] = []

    def for_each_pass(step: Callable[[ModelPass], None]) -> None:
        """Take a step of every pass; leave out one with an `InputError` from there on."""
        for model_pass in list(passes):
            with problems.collected():
                try:
                    step(model_pass)
                except InputError:
                    passes.remove(model_pass)
                    model_pass.discard()
                    raise

    for model, writers in tasks:
        with problems.collected():
            passes.append(ModelPass(model, dataset, writers))
    try:
        with bar, arithmetic(config):
            dtype = torch.float32 if dataset.has_vectors else torch.uint8
            device = torch.device(config.device)
            batches = (
                read_batches(reader, len(dataset), batch_size, device, dtype) if passes else ()
            )
            with torch.inference_mode():
                for start, pixels in batches:
                    for_each_pass(partial(ModelPass.update, start=start, pixels=pixels))
                    bar.update(len(pixels))
                    if not passes:
                        break
        before_files()
        for_each_pass(ModelPass.finish)
    except BaseException:
        for model_pass in passes:
            model_pass.discard()
        raise
    problems.raise_any()
