"""Snakemake's executor for SLURM (2.8.0), changed where it waits too long or never stops waiting.

The changes concern how jobs are started on a node, the time between status checks, jobs that SLURM
no longer knows, a controller that does not respond, retries that request more than the partition
has, and clusters without accounts. They are tested on a real SLURM in tests/cluster.
"""

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import snakemake_executor_plugin_slurm as plugin
from snakemake.logging import logger
from snakemake_executor_plugin_slurm.utils import get_job_wildcards

from matcheval.execution.cluster import queries
from matcheval.execution.cluster.requests import Request, within

_query_job_status = plugin.query_job_status
_get_submit_command = plugin.get_submit_command


def request_of(job: Any) -> Request:
    """Return what a job or group requests from SLURM.

    Parameters
    ----------
    job : snakemake job or group of jobs
        The job, with its resources.
    """
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
    )


def comment_of(job: Any) -> str:
    """Return the comment with which the executor submits a job, which identifies it in SLURM.

    Parameters
    ----------
    job : snakemake job or group of jobs
        The job.
    """
    wildcards = get_job_wildcards(job)
    return f"rule_{job.name}" + (f"_wildcards_{wildcards}" if wildcards else "")


class _JobWithResources:
    """A job that is submitted with other resources; on the node, it has its original ones."""

    def __init__(self, job: Any, resources: Any) -> None:
        self._job, self.resources = job, resources

    def __getattr__(self, name: str) -> Any:
        return getattr(self._job, name)


def submit_command(job: Any, *arguments: Any, **options: Any) -> str:
    """Build the command that submits a job; retries are limited to what their partition has.

    Parameters
    ----------
    job : snakemake job or group of jobs
        The job, with the resources of its current attempt.
    *arguments, **options
        As for the executor's `get_submit_command`, which this function replaces.
    """
    wanted = request_of(job)
    limited = within(wanted, queries.nodes()) if job.attempt > 1 else wanted
    if limited != wanted:
        logger.info(
            f"Attempt {job.attempt} of {job.name} requests {limited.mem_mb} MB and "
            f"{limited.minutes} minutes instead of {wanted.mem_mb} and {wanted.minutes}: the "
            "partition has no more."
        )
        changed = {"mem_mb": limited.mem_mb, "runtime": limited.minutes}
        resources = {**dict(job.resources.items()), **changed}
        job = _JobWithResources(job, type(job.resources)(fromdict=resources))
    return str(_get_submit_command(job, *arguments, **options))


plugin.get_submit_command = submit_command


class SlurmExecutor(plugin.Executor):
    """The executor for SLURM with this module's changes."""

    def additional_general_args(self) -> str:
        """Return arguments with which the Snakemake process on a node runs its jobs itself.

        The executor would let it start one more Snakemake process for each job, under `srun`. Jobs
        on a single node do not need this: the limits and GPUs of the submission apply to them
        anyway. `turn=1` makes the jobs of a group run one after the other, which is what their
        resources are requested for (profiles/slurm).
        """
        return "--executor local --resources turn=1"

    @property
    def next_seconds_between_status_checks(self) -> float:
        """Seconds between status checks, as set in Snakemake.

        The executor itself increases the time to 3 minutes while no job ends.
        """
        return self.workflow.remote_execution_settings.seconds_between_status_checks

    @next_seconds_between_status_checks.setter
    def next_seconds_between_status_checks(self, value: float) -> None:
        pass

    def get_account_arg(self, job: Any) -> Iterator[str]:
        """Build the argument for the account; none on a cluster without accounting.

        The executor guesses an account if none is given, which fails without `sacct`.

        Parameters
        ----------
        job : snakemake job or group of jobs
            The job.
        """
        if job.resources.get("slurm_account") or queries.has_accounting():
            yield from super().get_account_arg(job)
        else:
            yield ""

    def report_job_submission(self, job_info: Any, register_job: bool = True) -> None:
        """Record when a job was submitted.

        Parameters
        ----------
        job_info : SubmittedJobInfo
            The job.
        register_job : bool
            As for the executor's method.
        """
        job_info.aux["submitted"] = time.time()
        super().report_job_submission(job_info, register_job=register_job)

    async def check_active_jobs(self, active_jobs: Sequence[Any]) -> AsyncIterator[Any]:
        """Check the status of jobs, and yield those that are still running.

        The executor forgets all jobs when SLURM does not respond; here they are checked again. And
        it never stops waiting for jobs that SLURM no longer knows, such as after a power failure
        of its controller or if there was no status check for `MinJobAge`. These jobs have ended;
        here their output files decide whether they succeeded.

        Parameters
        ----------
        active_jobs : sequence of SubmittedJobInfo
            The submitted jobs that are not known to have ended.
        """
        known: dict[str, str] | None = None
        by_squeue = False

        async def query(command: str, logger: Any) -> tuple[dict[str, str] | None, float | None]:
            nonlocal known, by_squeue
            known, seconds = await _query_job_status(command, logger)
            by_squeue = command.startswith("squeue")
            return known, seconds

        plugin.query_job_status = query
        async for job_info in super().check_active_jobs(active_jobs):
            number = job_info.external_jobid
            # `sacct` does not know new jobs at once; `squeue` knows all jobs.
            if not by_squeue or known is None or number in known:
                yield job_info
            elif has_written_all(job_info):
                self.report_job_success(job_info)
            else:
                message = f"SLURM no longer knows job {number}, and its output files are missing. "
                self.report_job_error(job_info, msg=message)
        if known is None:
            for job_info in active_jobs:
                yield job_info


def has_written_all(job_info: Any) -> bool:
    """Whether all output files of a job exist and are newer than its submission.

    Parameters
    ----------
    job_info : SubmittedJobInfo
        The job.
    """
    since = job_info.aux["submitted"]
    files = [Path(file) for file in job_info.job.products(include_logfiles=False)]
    return all(file.exists() and file.stat().st_mtime >= since for file in files)
