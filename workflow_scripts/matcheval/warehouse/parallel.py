"""Work on many items by all cores, in order and in bounded memory."""

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")
_BATCH = 32
_ALONE = 256


class Workers:
    """Processes that items are handed to, started when there are many."""

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers
        self._pool: ProcessPoolExecutor | None = None

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """Apply a function to items."""
        iterator = iter(items)
        # Starting processes takes longer than these.
        alone = None if self._n_workers == 1 else (0 if self._pool else _ALONE)
        yield from map(function, islice(iterator, alone))
        waiting: deque[Future[list[B]]] = deque()
        while batch := tuple(islice(iterator, _BATCH)):
            waiting.append(self._started().submit(_apply, function, batch))
            if len(waiting) > 2 * self._n_workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Not forked: threads of libraries such as pyarrow do not survive that.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._n_workers, mp_context=context)
        return self._pool

    def stop(self) -> None:
        """End the processes; what has not begun is not done."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _apply(function: Callable[[Any], B], batch: tuple[Any, ...]) -> list[B]:
    return [function(item) for item in batch]


@contextmanager
def start_workers(n_workers: int) -> Iterator[Workers]:
    """Provide processes, which end with the block."""
    workers = Workers(n_workers)
    try:
        yield workers
    finally:
        workers.stop()


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
