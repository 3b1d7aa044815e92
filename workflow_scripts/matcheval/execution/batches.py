"""Jobs that make the files of many members, of which only those that are missing or outdated.

Snakemake removes the declared outputs of a job before it runs the job again. Members are therefore
not declared; an index of them is. Each file of a member is recorded beside it (`io.records`) as
soon as it is there, with a digest of all that it was made from: a killed or failed job goes on with
what is left, and a member is not made again because others are added to its job.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from matcheval.errors import InputError, StoppedError, listed
from matcheval.execution.calls import run_call
from matcheval.execution.entry_points import cut_off_bytecode
from matcheval.execution.processes import in_processes, one_line
from matcheval.io.files import disk_errors
from matcheval.io.json_files import digest_of, read_json, write_json
from matcheval.io.records import RESULTS, State, append_record, read_records

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Member:
    """A member of a batch.

    Attributes
    ----------
    name : str
    files : tuple of Path
        What is made.
    key : str
        A digest of all settings that the files depend on.
    reads : tuple of Path
        The files that they depend on.
    function : callable
        Makes the files; it can be pickled.
    arguments : mapping
        Its arguments by name.
    """

    name: str
    files: tuple[Path, ...]
    key: str
    reads: tuple[Path, ...]
    function: Callable[..., object]
    arguments: Mapping[str, Any]

    def origin(self) -> str:
        """Return a digest of all that the files are made from."""
        return digest_of([self.key, [State.of(file).sha256 for file in self.reads]])

    def is_current(self, origin: str) -> bool:
        """Whether the files are as they were when they were made from this origin."""
        for file in self.files:
            recorded = read_records(file.parent).get(file.name)
            if recorded is None or recorded.state is None or not file.is_file():
                return False
            if json.loads(recorded.record).get("origin") != origin:
                return False
            if not State.of(file).has_bytes_of(recorded.state):
                return False
        return True


def make_members(
    index: Path,
    members: Sequence[Member],
    results: Path,
    *,
    n_processes: int = 1,
    is_to_stop: Callable[[], bool] = lambda: False,
) -> None:
    """Make what is missing or outdated, and write the index of all members.

    Parameters
    ----------
    index : Path
        The file to write, once all members are there.
    members : sequence of Member
        In one process they are made in this order, so that one may read files of those before.
    results : Path
        The folder of all results.
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
    tasks = {one.name: partial(_make, one, results, is_to_stop) for one in members}
    n_processes = min(n_processes, len(members))
    made: Iterable[tuple[str, str]] = ((name, make()) for name, make in tasks.items())
    if n_processes > 1:
        made = in_processes(tasks, n_processes)
    failed = {name: reason for name, reason in made if reason}
    if failed:
        (first, reason), n = next(iter(failed.items())), len(members)
        names = f": {listed(list(failed))}" if len(failed) > 1 else ""
        raise InputError(f"{len(failed)} of {n} failed{names}; {first}: {reason}", file=index)
    if is_to_stop() and not all(file.is_file() for one in members for file in one.files):
        raise StoppedError("stopped as its time is nearly over", file=index)
    write_json({"members": dict(_listed(members, results))}, index)


def _listed(members: Sequence[Member], results: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the files of members, with size and digest, by their places below the results."""
    for file in (file for one in members for file in one.files):
        state = State.of(file)
        place = os.path.relpath(file, results)
        yield place, {"size": state.size, "sha256": state.sha256}


def _make(member: Member, results: Path, is_to_stop: Callable[[], bool] = lambda: False) -> str:
    """Make a member if it is not current; return why it failed."""
    if is_to_stop():
        return ""
    start = time.perf_counter()
    try:
        origin = member.origin()
        if member.is_current(origin):
            return ""
        member.function(**member.arguments)
        inputs = [_recorded_path(file, results) for file in member.reads]
        for file in member.files:
            record = json.dumps({"origin": origin, "input": inputs})
            append_record(file.parent, file.name, record)
    except StoppedError:
        return ""  # it goes on in the next job
    except Exception as error:
        log.exception("%s failed", member.name)
        return one_line(cut_off_bytecode(error) or error)
    log.info("%s: %.1f s", member.name, time.perf_counter() - start)
    return ""


def _recorded_path(file: Path, results: Path) -> str:
    return f"{RESULTS}{file.relative_to(results)}" if file.is_relative_to(results) else str(file)


def members_in(index: Path, results: Path) -> dict[Path, int]:
    """Return the sizes of the files that an index lists."""
    return {results / name: one["size"] for name, one in read_json(index)["members"].items()}


def remove_outdated(indexes: Iterable[str], results: Path) -> None:
    """Remove indexes, before a run is planned, of files that are missing or of another size.

    Digests are verified by those who read the files, and by `snakemake check`.
    """
    for index in filter(Path.is_file, map(Path, indexes)):
        try:
            sizes = members_in(index, results)
        except InputError:
            sizes = {index: -1}  # damaged: none of it counts
        changed = [
            file for file, size in sizes.items()
            if not file.is_file() or file.stat().st_size != size
        ]  # fmt: skip
        if changed:
            log.info("%s lists %s, which is missing or was replaced", index, changed[0])
            with disk_errors(index):
                index.unlink()


def make_calls(
    *,
    calls: Sequence[Mapping[str, Any]],
    code: str,
    results: Path,
    index: Path,
    threads: int,
) -> None:
    """Make the members of a batch by functions of the library (`study.rules.Rule.members`).

    Each process has one thread, since sums of several may differ in their last bits.
    """
    from threadpoolctl import threadpool_limits

    members = [
        Member(
            name=call["member"], files=tuple(map(Path, call["files"])),
            key=digest_of([code, call["key"]]), reads=tuple(map(Path, call["reads"])),
            function=run_call, arguments={"call": call["call"]},
        )
        for call in calls
    ]  # fmt: skip
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with threadpool_limits(1):
        for one in members[: threads > 1]:
            _make(one, results)  # what it imports, the processes share
        make_members(index, members, results, n_processes=threads)
