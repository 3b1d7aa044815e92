"""Tasks in processes of their own, which share what is imported and end with their parent."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from typing import Any


def in_processes(tasks: Mapping[str, Callable[[], str]], n: int) -> Iterator[tuple[str, str]]:
    """Run each task in a forked process, at most `n` of them at the same time.

    Parameters
    ----------
    tasks : mapping of str to callable
        Each returns a text, and raises nothing.
    n : int
        Largest number of processes at the same time.

    Yields
    ------
    name, text : str
        In the order in which they end; of a task whose process was killed, by which signal.
    """
    context, waiting = multiprocessing.get_context("fork"), list(tasks)
    running: dict[int, tuple[str, Any, Connection]] = {}
    while waiting or running:
        while waiting and len(running) < n:
            name = waiting.pop(0)
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_run, args=(tasks[name], there, os.getpid()))
            process.start()
            there.close()
            running[process.sentinel] = name, process, here
        for sentinel in wait(list(running)):
            assert isinstance(sentinel, int)
            name, process, here = running.pop(sentinel)
            process.join()
            try:
                yield name, here.recv()
            except EOFError:  # it told nothing
                yield name, _ended(process.exitcode)
            here.close()


def one_line(error: Exception) -> str:
    """Return the message of an error in one line, or its type if it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def _run(task: Callable[[], str], result: Connection, parent: int) -> None:
    def watch() -> None:  # the parent may be killed
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    result.send(task())


def _ended(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}, as if out of memory"
    return f"its process ended with status {code}"
