"""Work on many items by all cores, in order and in bounded memory."""

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")
_BATCH = 32


class Workers:
    """Processes that items are handed to; none for one worker, which is this process.

    Parameters
    ----------
    pool : Executor or None
    n_workers : int
    """

    def __init__(self, pool: Executor | None, n_workers: int) -> None:
        self._pool, self._n_workers = pool, n_workers

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """Apply a function to items.

        Parameters
        ----------
        function : callable
            Of the top level of a module, or a partial of one, so that processes find it.
        items : iterable
            Read a few batches ahead of what is yielded.

        Yields
        ------
        What `function` returns, in the order of the items.
        """
        if self._pool is None:
            yield from map(function, items)
            return
        waiting: deque[Future[list[B]]] = deque()
        iterator = iter(items)
        while batch := tuple(islice(iterator, _BATCH)):
            waiting.append(self._pool.submit(_apply, function, batch))
            if len(waiting) > 2 * self._n_workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def _apply(function: Callable[[Any], B], batch: tuple[Any, ...]) -> list[B]:
    return [function(item) for item in batch]


@contextmanager
def start_workers(n_workers: int) -> Iterator[Workers]:
    """Start processes, which end with the block.

    Parameters
    ----------
    n_workers : int
        Their number; 1 starts none.

    Yields
    ------
    Workers
    """
    if n_workers == 1:
        yield Workers(None, 1)
        return
    # Not forked: threads of libraries such as pyarrow do not survive that.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_workers, mp_context=context) as pool:
        yield Workers(pool, n_workers)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
