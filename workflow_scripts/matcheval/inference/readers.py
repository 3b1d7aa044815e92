"""Sources of a model's pixels: an array, or images decoded or made during the pass."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from matcheval.datasets.dataset import Dataset, MadeImages, release, stored_shape
from matcheval.datasets.decoding import array_image
from matcheval.errors import InputError
from matcheval.models.transforms import Geometry


class Reader(Protocol):
    """A source of the images of a dataset, in dataset order."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of every image."""

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Write images start..stop - 1 into `out`; called from several threads at once."""


class ArrayReader:
    """Reads the images of a dataset that is stored as an array, unchanged."""

    def __init__(self, dataset: Dataset) -> None:
        self._images = dataset.pixels
        self.shape = dataset.image_shape

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Copy images from the array."""
        np.copyto(out, self._images[start:stop])
        release(self._images)


class _ThreadedReader:
    """Base class of readers that read, resize and crop images on threads, several at a time."""

    def __init__(self, dataset: Dataset, geometry: Geometry, n_threads: int) -> None:
        self._dataset, self._geometry, self._n_threads = dataset, geometry, n_threads
        self._is_resized = geometry.resize != "none"
        self.shape = (*geometry.crop, 3) if self._is_resized else stored_shape(dataset)
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="images")


class DecodingReader(_ThreadedReader):
    """Decodes images on threads; Pillow releases Python's global lock."""

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Decode, resize and crop images."""
        dataset = self._dataset

        def decode(row: int) -> None:
            pixels = np.asarray(self._geometry.apply(dataset.image(start + row)))
            if pixels.shape != self.shape:
                size, first = (f"{shape[0]} × {shape[1]}" for shape in (pixels.shape, self.shape))
                name = f"image {start + row} ({dataset.names[start + row]})"
                problem = f"{name} is {size} pixels large, but the first image is {first}"
                remedy = "Use models whose transform resizes the images"
                raise InputError(problem, file=dataset.name, remedy=remedy)
            out[row] = pixels

        list(self._pool.map(decode, range(stop - start)))
        release(dataset.images)


class MakingReader(_ThreadedReader):
    """Computes the images of a dataset of `MadeImages` on threads."""

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Make, resize and crop images."""
        images, largest = self._dataset.images, self._dataset.max_value
        assert isinstance(images, MadeImages), self._dataset.name
        step = min(images.per_block, -(-len(out) // self._n_threads))

        def make(first: int) -> None:
            last = min(first + step, len(out))
            made = images[start + first : start + last]
            if not self._is_resized:
                out[first:last] = made
                return
            for row, pixels in enumerate(made, first):
                out[row] = np.asarray(self._geometry.apply(array_image(pixels, largest)))

        list(self._pool.map(make, range(0, len(out), step)))


ORIENTATIONS = 4


def quarter_turns(images: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return each square image rotated counter-clockwise by 0, 90, 180 and 270 degrees."""
    return np.stack([np.rot90(images, k, axes=(1, 2)) for k in range(ORIENTATIONS)], axis=1)


class RotatedReader:
    """Reads a source's images in four orientations: image i is i // 4, turned by i % 4 · 90°."""

    def __init__(self, reader: Reader, name: str) -> None:
        height, width, _ = reader.shape
        if height != width:
            problem = f"images of {height} × {width} pixels cannot be rotated by 90 degrees"
            remedy = "Leave the dataset out, or crop its images to squares"
            raise InputError(problem, file=name, field="rotation", remedy=remedy)
        self._reader, self.shape = reader, reader.shape

    def read(self, start: int, stop: int, out: npt.NDArray[np.uint8]) -> None:
        """Read and rotate images."""
        first, last = start // ORIENTATIONS, -(-stop // ORIENTATIONS)
        images = np.empty((last - first, *self.shape), np.uint8)
        self._reader.read(first, last, images)
        rotated = quarter_turns(images).reshape(-1, *self.shape)
        skipped = start - ORIENTATIONS * first
        np.copyto(out, rotated[skipped : skipped + stop - start])


_CUDA: Any = torch.cuda  # not fully typed

N_BUFFERS = 3  # one in use by the device, two being filled


@dataclass(eq=False)
class _Buffer:
    """Host memory for the pixels of a batch, and the event that ends its last transfer."""

    pixels: Tensor
    copied: Any = None


def read_batches(
    reader: Reader,
    n_images: int,
    batch_size: int,
    device: torch.device,
    dtype: torch.dtype = torch.uint8,
) -> Iterator[tuple[int, Tensor]]:
    """Yield the start and pixels of each batch, on a device; further batches are read meanwhile."""
    cuda = device.type == "cuda"
    size = min(batch_size, n_images)
    buffers = [
        _Buffer(torch.empty((size, *reader.shape), dtype=dtype, pin_memory=cuda))
        for _ in range(min(N_BUFFERS, -(-n_images // size)))
    ]
    free, starts = deque(buffers), iter(range(0, n_images, size))
    reading: deque[tuple[int, int, _Buffer, Future[None]]] = deque()
    stream: Any = _CUDA.Stream(device) if cuda else None
    pool = ThreadPoolExecutor(max(1, len(buffers) - 1), thread_name_prefix="read")

    def read_ahead() -> None:
        while free and (start := next(starts, None)) is not None:
            buffer, stop = free.popleft(), min(start + size, n_images)
            if buffer.copied is not None:
                buffer.copied.synchronize()
            out = buffer.pixels[: stop - start].numpy()
            reading.append((start, stop, buffer, pool.submit(reader.read, start, stop, out)))

    try:
        read_ahead()
        while reading:
            start, stop, buffer, future = reading.popleft()
            future.result()
            yield start, _to_device(buffer, stop - start, device, stream)
            free.append(buffer)
            read_ahead()
    finally:
        pool.shutdown(cancel_futures=True)


def _to_device(buffer: _Buffer, n: int, device: torch.device, stream: Any) -> Tensor:
    """Move a buffer's first `n` images to the device; `stream` is CUDA's for transfers, or None."""
    pixels = buffer.pixels[:n]
    if stream is None:
        return pixels.to(device)
    with torch.cuda.stream(stream):
        moved = pixels.to(device, non_blocking=True)
        buffer.copied = _CUDA.Event()
        buffer.copied.record(stream)
    current = torch.cuda.current_stream(device)
    current.wait_event(buffer.copied)
    # The memory belongs to the transfer stream's pool: it must not be reused before the current
    # stream has finished with it.
    moved.record_stream(current)
    return moved
