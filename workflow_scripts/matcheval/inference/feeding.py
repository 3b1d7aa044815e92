"""Bringing pixels to the device while it computes: a few buffers, filled ahead of their use."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from matcheval.inference.readers import Reader

_CUDA: Any = torch.cuda  # not all of it is typed

N_BUFFERS = 3  # one in use by the device, two being filled


@dataclass(eq=False)
class _Buffer:
    """Memory for the pixels of a batch, and the end of its last transfer."""

    pixels: Tensor
    copied: Any = None


def feed(
    reader: Reader, n_images: int, batch_size: int, device: torch.device
) -> Iterator[tuple[int, Tensor]]:
    """Give batches of pixels on a device.

    The next batches are read on threads of their own; for CUDA they go through pinned memory and
    a stream of their own, so that reading, transfer and computation overlap. However many images
    there are, the memory is that of a few batches.

    Parameters
    ----------
    reader : Reader
        Where the pixels come from.
    n_images, batch_size : int
        How many there are, and how many to give at a time.
    device : torch.device
        Where they are wanted.

    Yields
    ------
    start : int
        Index of the first image.
    pixels : uint8 tensor, shape (n, height, width, channels)
        On `device`; on the CPU it is overwritten once the next batch is asked for.
    """
    cuda = device.type == "cuda"
    size = min(batch_size, n_images)
    buffers = [
        _Buffer(torch.empty((size, *reader.shape), dtype=torch.uint8, pin_memory=cuda))
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
    """Bring a buffer's first images to the device; `stream` is CUDA's for transfers, or None."""
    pixels = buffer.pixels[:n]
    if stream is None:
        return pixels.to(device)
    with torch.cuda.stream(stream):
        moved = pixels.to(device, non_blocking=True)
        buffer.copied = _CUDA.Event()
        buffer.copied.record(stream)
    current = torch.cuda.current_stream(device)
    current.wait_event(buffer.copied)
    # Its memory belongs to the other stream's pool: it must not be given away before this one
    # is done with it.
    moved.record_stream(current)
    return moved
