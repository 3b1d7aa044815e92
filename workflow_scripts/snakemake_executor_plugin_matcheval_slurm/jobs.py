"""What is requested from SLURM for a job; jobs refused for now; states of submitted jobs."""

import glob
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from matcheval.errors import InputError
from matcheval.execution.cluster import slurm
from matcheval.execution.cluster.checks import Request
from matcheval.execution.cluster.slurm import parse_states, pause, status_command

T = TypeVar("T")


def request_of(job: Any) -> Request:
    """Return what a job or group requests from SLURM."""
    resource = job.resources.get
    return Request(
        job=job.name,
        cpus=int(resource("cpus_per_task") or job.threads),
        mem_mb=int(resource("mem_mb") or 0),
        minutes=int(resource("runtime") or 0),
        gpus=int(resource("gpu") or 0),
        partition=resource("slurm_partition"),
        account=resource("slurm_account"),
        qos=resource("qos"),
        constraint=resource("constraint"),
        group=job.is_group(),
        resumable=bool(resource("saves")),
    )


def comment_of(job: Any) -> str:
    """Return the comment with which a job is submitted, which identifies it in SLURM."""
    wildcards = "" if job.is_group() else "_".join(job.wildcards).replace("/", "_")
    return f"rule_{job.name}" + (f"_wildcards_{wildcards}" if wildcards else "")


def changes(job: Any, limited: Request, settings: Any) -> dict[str, Any]:
    """Return the resources that a job is submitted with in place of its own."""
    options = [
        job.resources.get("slurm_extra"),
        "--requeue" if settings.requeue else "--no-requeue",
    ]
    if limited.resumable:
        # At most half of its time before the end, should that be short.
        seconds = min(settings.signal_seconds, 30 * limited.minutes)
        options.append(f"--signal=B:USR1@{seconds}")
    changed = {
        "mem_mb": limited.mem_mb or None,
        "runtime": limited.minutes or None,
        "slurm_extra": " ".join(filter(None, options)),
    }
    if not limited.gpus:
        changed["gpu_model"] = None  # would request a GPU
    elif settings.gres:
        changed |= {"gpu": None, "gres": f"{settings.gres}:{limited.gpus}"}
    return changed


class SubmittedAs:
    """A job that is submitted with other resources; on the node, it has its original ones."""

    def __init__(self, job: Any, changed: dict[str, Any]) -> None:
        self.job, self.since = job, time.time()
        resources = {**dict(job.resources.items()), **changed}
        kept = {name: value for name, value in resources.items() if value is not None}
        self.resources = type(job.resources)(fromdict=kept)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.job, name)


def original(job: Any) -> Any:
    """Return Snakemake's own job."""
    return job.job if isinstance(job, SubmittedAs) else job


def has_saved(job: Any, since: float) -> bool:
    """Whether a resumable job has saved something since it was submitted."""
    files = map(Path, glob.glob(job.resources.get("saves")))  # noqa: PTH207 - may be absolute
    return any(file.stat().st_mtime >= since for file in files)


def has_written_all(job: Any, since: float) -> bool:
    """Whether all output files of a job exist and are newer than its submission."""
    files = [Path(file) for file in job.products(include_logfiles=False)]
    return all(file.exists() and file.stat().st_mtime >= since for file in files)


# After this time a reason is told again.
_FORGET_SECONDS = 3600

Place = tuple[Any, ...]


def place_of(job: Any) -> Place:
    """Return what SLURM's limits on queued jobs apply to; others may be accepted meanwhile."""
    request = request_of(job)
    return request.partition, request.account, request.qos, request.gpus > 0


@dataclass
class _Queue:
    """Jobs of one partition, account and QOS that wait for their submission."""

    jobs: dict[Any, bool] = field(default_factory=dict)
    failures: int = 0
    since: float = 0.0
    due: float = 0.0
    told: dict[str, float] = field(default_factory=dict)


class WaitingJobs:
    """Jobs that SLURM refused for now, and those behind them: all are submitted again later."""

    def __init__(
        self, shortest: float, patience: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._shortest, self._patience, self._clock = shortest, patience, clock
        self._queues: dict[Place, _Queue] = defaultdict(_Queue)
        self._lock = threading.Lock()

    def join(self, job: Any) -> bool:
        """Queue a job if one like it was refused, as it would be, too; return whether it waits."""
        with self._lock:
            queue = self._queues[place_of(job)]
            if not queue.jobs or job in queue.jobs:
                return False
            queue.jobs[job] = False
            return True

    def refused(self, job: Any, reason: str) -> str | None:
        """Queue a job that SLURM refused; return what to say, or None once patience has ended."""
        with self._lock:
            queue, now = self._queues[place_of(job)], self._clock()
            if not queue.failures:
                queue.since = now
            queue.failures += 1
            if now - queue.since >= self._patience:
                queue.jobs.pop(job, None)
                return None
            queue.jobs[job] = True
            seconds = pause(queue.failures, self._shortest)
            queue.due = now + seconds
            if now - queue.told.get(reason, -_FORGET_SECONDS) < _FORGET_SECONDS:
                return ""
            queue.told[reason] = now
            return (
                f"SLURM does not accept job {job.jobid} ({job.name}) now. It and those after it "
                f"wait; one is submitted again in {seconds:.0f} s, and from time to time. {reason}"
            )

    def accepted(self, job: Any) -> None:
        """Note that SLURM has accepted a job."""
        with self._lock:
            queue = self._queues[place_of(job)]
            queue.jobs.pop(job, None)
            queue.failures = 0

    def leave(self, job: Any) -> None:
        """Remove a job that has failed."""
        with self._lock:
            for queue in self._queues.values():
                queue.jobs.pop(job, None)

    def tried(self) -> list[Any]:
        """Return the refused jobs that are now due to be submitted again."""
        with self._lock:
            return [job for queue in self._due() for job, tried in queue.jobs.items() if tried]

    def due(self) -> Iterator[Any]:
        """Yield the jobs due to be submitted, of each queue until one of them is refused."""
        with self._lock:
            queues = list(self._due())
        for queue in queues:
            for job in list(queue.jobs):
                yield job
                if job in queue.jobs:
                    break

    def _due(self) -> Iterator[_Queue]:
        now = self._clock()
        return (one for one in self._queues.values() if one.jobs and one.due <= now)


# Jobs of a run are looked for from this long before its start, should clocks differ.
_BEFORE_SECONDS = 3600
_JOBS_PER_COMMAND = 500


class JobsInSlurm:
    """The submitted jobs of a run: their states, and how they are cancelled."""

    def __init__(self, name: str, first: str, logger: Any) -> None:
        self._name, self._first, self._logger = name, first, logger
        self._since = time.strftime("%Y-%m-%dT%H:%M", time.localtime(time.time() - _BEFORE_SECONDS))
        self._silent = False

    def states(self, numbers: Collection[str]) -> dict[str, str] | None:
        """Ask for the states of all jobs; None if SLURM does not answer."""
        has_accounting = self._ask(slurm.has_accounting)
        if has_accounting is None:
            return None
        programs = ["squeue", "sacct"] if has_accounting else ["squeue"]
        programs.sort(key=lambda program: program != self._first)
        states: dict[str, str] = {}
        for program in programs:
            text = self._ask(slurm.run_slurm, *status_command(program, self._name, self._since))
            if text is None:
                return None
            states = parse_states(text) | states
            if all(number in states for number in numbers):
                break
        return states

    def cancel_unknown(self, comments: set[str], known: Collection[str]) -> bool:
        """Cancel jobs with these comments that `sbatch` does not know to have submitted.

        SLURM accepted them although it told otherwise, or did not answer. Numbers in `known` are
        those of submitted jobs. Returns whether SLURM answers now.
        """
        command = ["squeue", "--noheader", "--me", f"--name={self._name}", "--format=%i|%k"]
        text = self._ask(slurm.run_slurm, *command)
        if text is None:
            return False
        found = parse_states(text).items()
        self.cancel([n for n, comment in found if comment in comments and n not in known])
        return True

    def cancel(self, numbers: Sequence[str]) -> None:
        """Cancel jobs."""
        for start in range(0, len(numbers), _JOBS_PER_COMMAND):
            part = numbers[start : start + _JOBS_PER_COMMAND]
            self._ask(slurm.run_slurm, "scancel", "--quiet", *part)

    def _ask(self, question: Callable[..., T], *arguments: str) -> T | None:
        """Ask SLURM something, and return the answer; None if it does not answer."""
        try:
            found = question(*arguments)
        except InputError as error:
            if not self._silent:
                self._logger.warning(f"SLURM does not answer; it is asked again. {error}")
            self._silent = True
            return None
        self._silent = False
        return found
