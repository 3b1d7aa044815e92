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
from matcheval.execution.entry_points import Call, convert_arguments, import_function, run_call
from matcheval.io.provenance import is_made_from, origin_of, publish, record_origin

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Member:
    """One result of a batch job: how to make it, and whether it is current (None: always make it).

    Both functions are picklable.
    """

    name: str
    make: Callable[[], object]
    is_current: Callable[[], bool] | None = None


def kept_member(
    name: str, files: Sequence[Path], key: str, reads: Sequence[Path], make: Callable[[], object]
) -> Member:
    """Return a member that is made only if its settings, `key`, or files that it reads changed."""
    return Member(
        name,
        partial(_make_and_record, files, key, reads, make),
        partial(_are_current, files, key, reads),
    )


def _are_current(files: Sequence[Path], key: str, reads: Sequence[Path]) -> bool:
    """Return whether files exist that were made with this key from the present inputs."""
    return is_made_from(files, origin_of(key, reads))


def _make_and_record(
    files: Sequence[Path], key: str, reads: Sequence[Path], make: Callable[[], object]
) -> None:
    """Make files, and record the key and the inputs that they were made with."""
    origin = origin_of(key, reads)
    make()
    record_origin(files, origin)


def make_members(
    members: Sequence[Member], *, n_processes: int = 1,
    should_stop: Callable[[], bool] = lambda: False,
) -> None:  # fmt: skip
    """Make the members that are missing or outdated, in this order or in several processes.

    In one process, a member may read those before it. If some fail, the others are made, and an
    `InputError` names the failed ones. If stopped, raise `StoppedError`; the next job goes on.
    """
    tasks = {member.name: partial(_make_if_outdated, member, should_stop) for member in members}
    if min(n_processes, len(members)) > 1:
        reasons = dict(run_in_processes(tasks, n_processes))
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


def _make_if_outdated(member: Member, should_stop: Callable[[], bool]) -> str:
    """Make a member unless it is current; return why it failed, `_STOPPED`, or an empty string."""
    start = time.perf_counter()
    try:
        if member.is_current is not None and member.is_current():
            return ""
        if should_stop():
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
    """Make the first member, then the others in `threads` processes, which share its imports."""
    n_first = 1 if threads > 1 else 0
    make_members(members[:n_first])
    make_members(members[n_first:], n_processes=threads)


def run_calls(*, calls: Sequence[Call], threads: int) -> None:
    """Run the calls of library functions that make a job's outputs, `threads` of them at a time."""
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
    """Make one kept file per member by the library function named `makes`, and link to each file.

    The function gets the arguments that are `shared`, those of the member, and the file as argument
    `output`. A file is made again when a file that it `reads`, the state of the user's files or the
    code changes. Each process has one thread: sums over several may differ in their last bits.
    """
    from threadpoolctl import threadpool_limits

    function = import_function(makes)
    common = convert_arguments(function, shared)
    batch, files = [], []
    for name, own_arguments in members.items():
        file = kept / f"{name}.parquet"
        arguments = {**common, **convert_arguments(function, own_arguments), output: file}
        key = json.dumps([code, custom_files, makes, shared, own_arguments], sort_keys=True)
        key = key.replace(f'"{results}/', '"<results>/')  # which may be moved
        call = partial(function, **arguments)
        batch.append(kept_member(name, [file], key, reads[name], call))
        files.append(file)
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with threadpool_limits(1):
        _make_side_by_side(batch, threads)
    for file in files:
        publish(file, declared / file.name)


# --- processes, which share what is imported and end with their parent


def run_in_processes(tasks: Mapping[str, Callable[[], str]], n: int) -> Iterator[tuple[str, str]]:
    """Run tasks in at most `n` processes at a time; yield each one's name and text when it ends.

    A task returns its text and raises nothing; if its process is killed, the text names the signal.
    """
    context, waiting = multiprocessing.get_context("fork"), list(tasks)
    running: dict[int, tuple[str, Any, Connection]] = {}
    while waiting or running:
        while waiting and len(running) < n:
            name = waiting.pop(0)
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_send_result, args=(tasks[name], sender, os.getpid()))
            process.start()
            sender.close()
            running[process.sentinel] = name, process, receiver
        for sentinel in wait(list(running)):
            assert isinstance(sentinel, int)
            name, process, receiver = running.pop(sentinel)
            process.join()
            try:
                yield name, receiver.recv()
            except EOFError:  # nothing was sent
                yield name, _exit_message(process.exitcode)
            receiver.close()


def one_line(error: Exception) -> str:
    """Return an error's message as one line, or the name of its type if it has no message."""
    return " ".join(str(error).split()) or type(error).__name__


def _send_result(task: Callable[[], str], sender: Connection, parent: int) -> None:
    """Run a task in a child process and send its text; exit if the parent process is killed."""

    def exit_without_parent() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=exit_without_parent, daemon=True).start()
    sender.send(task())


def _exit_message(exit_code: int) -> str:
    if exit_code < 0:
        return f"killed by {signal.Signals(-exit_code).name}, as if out of memory"
    return f"its process ended with status {exit_code}"
