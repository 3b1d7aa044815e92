"""Snakemake's executor for SLURM (2.8.0), amended where it waits too long, or for ever.

That is: how jobs are started on a node; the time between two looks at them; jobs that SLURM no
longer knows; a controller that does not answer; retries that ask for more than there is; and the
account, on a cluster without. Tested on a real SLURM in tests/cluster.
"""

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import snakemake_executor_plugin_slurm as plugin
from snakemake.logging import logger
from snakemake_executor_plugin_slurm.utils import get_job_wildcards

from matcheval.execution.cluster import queries as asking
from matcheval.execution.cluster.requests import Request, within

_ask = plugin.query_job_status
_sbatch = plugin.get_submit_command


def request_of(job: Any) -> Request:
    """What a job or group asks of SLURM, by itself."""
    wanted = job.resources.get
    return Request(
        job=job.name,
        cpus=int(wanted("cpus_per_task") or job.threads),
        mem_mb=int(wanted("mem_mb") or 0),
        minutes=int(wanted("runtime") or 0),
        gpus=int(wanted("gpu") or 0),
        partition=wanted("slurm_partition"),
        account=wanted("slurm_account"),
        qos=wanted("qos"),
        constraint=wanted("constraint"),
        group=job.is_group(),
    )


def comment_of(job: Any) -> str:
    """What the executor tells SLURM a job is."""
    wildcards = get_job_wildcards(job)
    return f"rule_{job.name}" + (f"_wildcards_{wildcards}" if wildcards else "")


class _Asking:
    """A job that asks for other resources; on the node it is what it was."""

    def __init__(self, job: Any, resources: Any) -> None:
        self._job, self.resources = job, resources

    def __getattr__(self, name: str) -> Any:
        return getattr(self._job, name)


def submit_command(job: Any, *arguments: Any, **options: Any) -> str:
    """Make the command that submits a job; a retry asks for what its partition has at most."""
    wanted = request_of(job)
    asked = within(wanted, asking.nodes()) if job.attempt > 1 else wanted
    if asked != wanted:
        logger.info(
            f"Attempt {job.attempt} of {job.name} asks for {asked.mem_mb} MB and {asked.minutes} "
            f"minutes instead of {wanted.mem_mb} and {wanted.minutes}: the partition has no more."
        )
        less = {"mem_mb": asked.mem_mb, "runtime": asked.minutes}
        everything = {**dict(job.resources.items()), **less}
        job = _Asking(job, type(job.resources)(fromdict=everything))
    return str(_sbatch(job, *arguments, **options))


plugin.get_submit_command = submit_command


class SlurmExecutor(plugin.Executor):
    """The executor, amended."""

    def additional_general_args(self) -> str:
        """Let the Snakemake on the node do its jobs itself.

        The executor has it start one more Snakemake for each job, under `srun`, which jobs on a
        single node have no use for: they are in the limits and on the GPUs of the submission. Jobs
        of a group take turns, as what is asked for has it (profiles/slurm).
        """
        return "--executor local --resources turn=1"

    @property
    def next_seconds_between_status_checks(self) -> float:
        """Snakemake's own setting; the executor's own time grows to 3 minutes between two ends."""
        return self.workflow.remote_execution_settings.seconds_between_status_checks

    @next_seconds_between_status_checks.setter
    def next_seconds_between_status_checks(self, value: float) -> None:
        pass

    def get_account_arg(self, job: Any) -> Iterator[str]:
        """Guess no account where there are none: the guess needs sacct, and fails without it."""
        if job.resources.get("slurm_account") or asking.has_accounting():
            yield from super().get_account_arg(job)
        else:
            yield ""

    def report_job_submission(self, job_info: Any, register_job: bool = True) -> None:
        """Note when a job was submitted."""
        job_info.aux["submitted"] = time.time()
        super().report_job_submission(job_info, register_job=register_job)

    async def check_active_jobs(self, active_jobs: Sequence[Any]) -> AsyncIterator[Any]:
        """Look at the jobs; those that still run are yielded.

        The executor drops all jobs when SLURM does not answer: here they are looked at again. And
        it waits for ever for jobs that SLURM does not know, as after a power cut of its controller,
        or when nobody looked for `MinJobAge`: these have ended, and what they made says how.
        """
        known: dict[str, str] | None = None
        by_squeue = False

        async def ask(command: str, logger: Any) -> tuple[dict[str, str] | None, float | None]:
            nonlocal known, by_squeue
            known, seconds = await _ask(command, logger)
            by_squeue = command.startswith("squeue")
            return known, seconds

        plugin.query_job_status = ask
        async for job_info in super().check_active_jobs(active_jobs):
            number = job_info.external_jobid
            # The accounting of `sacct` learns of new jobs late; the queue has all there are.
            if not by_squeue or known is None or number in known:
                yield job_info
            elif has_made_all(job_info):
                self.report_job_success(job_info)
            else:
                lost = f"SLURM no longer knows job {number}, and what it makes is not there. "
                self.report_job_error(job_info, msg=lost)
        if known is None:
            for job_info in active_jobs:
                yield job_info


def has_made_all(job_info: Any) -> bool:
    """Whether all that a job makes is there, and was not there before it was submitted."""
    since = job_info.aux["submitted"]
    files = [Path(file) for file in job_info.job.products(include_logfiles=False)]
    return all(file.exists() and file.stat().st_mtime >= since for file in files)
