"""Jobs that SLURM does not accept for now: they wait here, and one is tried from time to time."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from matcheval.execution.cluster.slurm import pause
from snakemake_executor_plugin_matcheval_slurm.jobs import request_of

# After this time a reason is told again.
_FORGET_SECONDS = 3600

Place = tuple[Any, ...]


def place_of(job: Any) -> Place:
    """Return what limits on the number of jobs are about: jobs of other places may be accepted."""
    request = request_of(job)
    return request.partition, request.account, request.qos, request.gpus > 0


@dataclass
class _Queue:
    """Jobs of one place that wait."""

    jobs: dict[Any, bool] = field(default_factory=dict)
    failures: int = 0
    since: float = 0.0
    due: float = 0.0
    told: dict[str, float] = field(default_factory=dict)


class WaitingJobs:
    """The jobs that wait until SLURM accepts them."""

    def __init__(
        self, shortest: float, patience: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._shortest, self._patience, self._clock = shortest, patience, clock
        self._queues: dict[Place, _Queue] = {}
        self._lock = threading.Lock()

    def join(self, job: Any) -> bool:
        """Add a job, if others of its place wait: SLURM would not accept it either."""
        with self._lock:
            queue = self._queues.get(place_of(job))
            if queue is None or not queue.jobs or job in queue.jobs:
                return False
            queue.jobs[job] = False
            return True

    def refused(self, job: Any, reason: str) -> str | None:
        """Note that SLURM does not accept a job for now."""
        with self._lock:
            queue, now = self._queues.setdefault(place_of(job), _Queue()), self._clock()
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
            queue = self._queues.get(place_of(job))
            if queue is not None:
                queue.jobs.pop(job, None)
                queue.failures = 0

    def leave(self, job: Any) -> None:
        """Remove a job that has failed."""
        with self._lock:
            for queue in self._queues.values():
                queue.jobs.pop(job, None)

    def tried(self) -> list[Any]:
        """Return the jobs whose time has come, of those that SLURM was asked to accept."""
        with self._lock:
            return [job for queue in self._due() for job, tried in queue.jobs.items() if tried]

    def due(self) -> Iterator[Any]:
        """Yield the jobs whose time has come, of each place until one of them is refused."""
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
