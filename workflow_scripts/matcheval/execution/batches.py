"""Jobs that make several results, of which only those that are missing or outdated.

Results are made at the place where they are kept (`io.provenance`), one after the other or in
processes: a killed or failed job goes on with what is left.
"""

import json
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from matcheval.errors import InputError, StoppedError, listed
from matcheval.execution.entry_points import Call, converted, named_function, run_call
from matcheval.io.provenance import is_made_from, origin_of, publish, record_origin

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Member:
    """A result of a batch; without `is_current` it is always made. Both functions are picklable."""

    name: str
    make: Callable[[], object]
    is_current: Callable[[], bool] | None = None


def kept_member(
    name: str, files: Sequence[Path], key: str, reads: Sequence[Path], make: Callable[[], object]
) -> Member:
    """Return a member that records what its files are made from: `key` of settings, and `reads`."""
    return Member(
        name, partial(_record, files, key, reads, make), partial(_has_origin, files, key, reads)
    )


def _has_origin(files: Sequence[Path], key: str, reads: Sequence[Path]) -> bool:
    return is_made_from(files, origin_of(key, reads))


def _record(
    files: Sequence[Path], key: str, reads: Sequence[Path], make: Callable[[], object]
) -> None:
    origin = origin_of(key, reads)
    make()
    record_origin(files, origin)


def make_members(
    members: Sequence[Member], *, n_processes: int = 1,
    is_to_stop: Callable[[], bool] = lambda: False,
) -> None:  # fmt: skip
    """Make what is missing or outdated; in one process in this order, each after those it reads.

    If some fail, the others are made, and an `InputError` names the failed ones. If it is stopped,
    it raises `StoppedError`, and the next job makes the rest.
    """
    tasks = {member.name: partial(_make, member, is_to_stop) for member in members}
    if min(n_processes, len(members)) > 1:
        reasons = dict(in_processes(tasks, n_processes))
    else:
        reasons = {name: make() for name, make in tasks.items()}
    stopped = [name for name, reason in reasons.items() if reason == _STOPPED]
    failed = [name for name, reason in reasons.items() if reason not in ("", _STOPPED)]
    if failed and len(members) == 1:
        raise InputError(reasons[failed[0]])
    if failed:
        for name in failed:
            log.error("%s: %s", name, reasons[name])
        names = f": {listed(failed)}" if len(failed) > 1 else ""
        first = f"{failed[0]}: {reasons[failed[0]]}"
        raise InputError(f"{len(failed)} of {len(members)} failed{names}; {first}")
    if stopped:
        raise StoppedError("stopped as its time is nearly over", file=listed(stopped))


_STOPPED = "stopped"


def _make(member: Member, is_to_stop: Callable[[], bool]) -> str:
    """Make a member unless it is current; return the reason if it failed, else an empty string."""
    start = time.perf_counter()
    try:
        if member.is_current is not None and member.is_current():
            return ""
        if is_to_stop():
            return _STOPPED
        member.make()
    except StoppedError as error:
        log.info("%s", error)
        return _STOPPED  # it goes on in the next job
    except Exception as error:
        if not isinstance(error, InputError):
            log.exception("%s failed", member.name)
        return one_line(error)
    log.info("%s: %.1f s", member.name, time.perf_counter() - start)
    return ""


def _make_side_by_side(members: Sequence[Member], threads: int) -> None:
    """Make members in processes, one per thread, which share what the first one imports."""
    n_first = 1 if threads > 1 else 0
    make_members(members[:n_first])
    make_members(members[n_first:], n_processes=threads)


def make_all(*, calls: Sequence[Call], threads: int) -> None:
    """Run calls, as many at a time as there are threads, which make a job's outputs."""
    names = (f"{n}. {call['function'].partition(':')[2]}" for n, call in enumerate(calls, 1))
    members = [
        Member(name, partial(run_call, call)) for name, call in zip(names, calls, strict=True)
    ]
    _make_side_by_side(members, threads)


def make_calls(
    *, makes: str, shared: Mapping[str, Any], members: Mapping[str, Mapping[str, Any]],
    reads: Mapping[str, Sequence[Path]], output: str, custom_files: Any, code: str, results: str,
    kept: Path, declared: Path, threads: int,
) -> None:  # fmt: skip
    """Make a file per member by a function of the library, `makes`, and link to it.

    It is called with the arguments of all members, `shared`, those of one, and the file as argument
    `output`. Files depend on what they are made from, `reads`, on the state of the user's files and
    on the code. Each process has one thread, since sums of several may differ in their last bits.
    """
    from threadpoolctl import threadpool_limits

    called = named_function(makes)
    common = converted(called, shared)
    batch, files = [], []
    for name, own in members.items():
        file = kept / f"{name}.parquet"
        arguments = {**common, **converted(called, own), output: file}
        key = json.dumps([code, custom_files, makes, shared, own], sort_keys=True)
        key = key.replace(f'"{results}/', '"<results>/')  # which may be moved
        call = partial(called, **arguments)
        batch.append(kept_member(name, [file], key, reads[name], call))
        files.append(file)
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with threadpool_limits(1):
        _make_side_by_side(batch, threads)
    for file in files:
        publish(file, declared / file.name)


# --- processes, which share what is imported and end with their parent


def in_processes(tasks: Mapping[str, Callable[[], str]], n: int) -> Iterator[tuple[str, str]]:
    """Run tasks, which return a text and raise nothing, in at most `n` processes at a time.

    Yield the names and texts in the order in which they end; of a task whose process was killed,
    by which signal.
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
                yield name, _exit_message(process.exitcode)
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


def _exit_message(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}, as if out of memory"
    return f"its process ended with status {code}"
