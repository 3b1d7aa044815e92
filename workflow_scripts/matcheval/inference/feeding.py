"""Transfer of pixels to the device while it computes: a few buffers, filled ahead of use."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from matcheval.inference.readers import Reader

_CUDA: Any = torch.cuda  # not fully typed

N_BUFFERS = 3  # one in use by the device, two being filled


@dataclass(eq=False)
class _Buffer:
    """Host memory for the pixels of a batch, and the event that ends its last transfer."""

    pixels: Tensor
    copied: Any = None


def feed(
    reader: Reader,
    n_images: int,
    batch_size: int,
    device: torch.device,
    dtype: torch.dtype = torch.uint8,
) -> Iterator[tuple[int, Tensor]]:
    """Yield batches of pixels on a device."""
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
