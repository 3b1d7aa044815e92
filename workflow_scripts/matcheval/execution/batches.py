"""Jobs that make several results, of which only those that are missing or outdated.

Results are made at the place where they are kept (`io.kept`), one after the other or in processes:
a killed or failed job goes on with what is left.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from matcheval.errors import InputError, StoppedError, listed
from matcheval.execution.calls import Call, converted, named_function, run_call
from matcheval.execution.entry_points import cut_off_bytecode
from matcheval.execution.processes import in_processes, one_line
from matcheval.io.kept import is_made_from, origin_of, publish, record_origin

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Member:
    """A result of a batch; both functions can be pickled.

    Attributes
    ----------
    name : str
    make : callable
        Makes the result.
    is_current : callable or None
        Whether there is nothing to do; None if the result is always made.
    """

    name: str
    make: Callable[[], object]
    is_current: Callable[[], bool] | None = None


def kept_member(
    name: str, files: Sequence[Path], key: str, reads: Sequence[Path], make: Callable[[], object]
) -> Member:
    """Return a member that records beside its files what they were made from.

    Parameters
    ----------
    name : str
    files : sequence of Path
        What is made.
    key : str
        A digest of all settings that the files depend on.
    reads : sequence of Path
        The files that they depend on.
    make : callable
    """
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
    members: Sequence[Member],
    *,
    n_processes: int = 1,
    is_to_stop: Callable[[], bool] = lambda: False,
) -> None:
    """Make what is missing or outdated.

    Parameters
    ----------
    members : sequence of Member
        In one process they are made in this order, so that one may read files of those before.
    n_processes : int
        How many are made at a time.
    is_to_stop : callable
        Says whether to leave the rest to the next job.

    Raises
    ------
    InputError
        If some fail, naming them; all others are made.
    StoppedError
        If it was stopped; the next job makes the others.
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
    """Make a member if it is not current; return why it failed."""
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
        return one_line(cut_off_bytecode(error) or error)
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
    *,
    makes: str,
    shared: Mapping[str, Any],
    members: Mapping[str, Mapping[str, Any]],
    reads: Mapping[str, Sequence[Path]],
    output: str,
    state: Any,
    code: str,
    results: str,
    kept: Path,
    declared: Path,
    threads: int,
) -> None:
    """Make a file per member by a function of the library, which is called with its arguments.

    Each process has one thread, since sums of several may differ in their last bits.

    Parameters
    ----------
    makes : str
        The function, `module:name`.
    shared : mapping
        Arguments of all members.
    members : mapping of str to mapping
        Further arguments by member.
    reads : mapping of str to sequence of Path
        The files that each member is made from.
    output : str
        The argument that names the file to write.
    state, code
        What else results depend on: the user's files, and the code of the function.
    results : str
        Folder of all results.
    kept, declared : Path
        Folder of the files, and folder of the links to them.
    threads : int
        Number of processes.
    """
    from threadpoolctl import threadpool_limits

    called = named_function(makes)
    common = converted(called, shared)
    batch, files = [], []
    for name, own in members.items():
        file = kept / f"{name}.parquet"
        arguments = {**common, **converted(called, own), output: file}
        key = json.dumps([code, state, makes, shared, own], sort_keys=True)
        key = key.replace(f'"{results}/', '"<results>/')  # which may be moved
        call = partial(called, **arguments)
        batch.append(kept_member(name, [file], key, reads[name], call))
        files.append(file)
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with threadpool_limits(1):
        _make_side_by_side(batch, threads)
    for file in files:
        publish(file, declared / file.name)
