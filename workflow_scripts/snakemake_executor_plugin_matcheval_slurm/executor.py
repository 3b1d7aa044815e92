"""The executor: submits with `snakemake-executor-plugin-slurm`, and watches the jobs itself."""

import shlex
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import snakemake_executor_plugin_slurm as plugin
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo

from matcheval.errors import InputError
from matcheval.execution.cluster import slurm
from matcheval.execution.cluster.checks import Request, startable, within
from matcheval.execution.cluster.slurm import Meaning, meaning, normalized, passes, patience
from matcheval.execution.jobs import stop_file
from snakemake_executor_plugin_matcheval_slurm import jobs
from snakemake_executor_plugin_matcheval_slurm.jobs import original, request_of

# Within this many seconds `sacct` knows a new job.
_DELAY_SECONDS = 60


class _WithSettings:
    """Snakemake's workflow, with the settings of the executor that this one is based on."""

    def __init__(self, workflow: Any, settings: Any) -> None:
        self._workflow, self.executor_settings = workflow, settings

    def __getattr__(self, name: str) -> Any:
        return getattr(self._workflow, name)


class SlurmExecutor(plugin.Executor):
    """The executor."""

    def __init__(self, workflow: Any, logger: Any) -> None:
        self._settings = workflow.executor_settings
        self._waiting = jobs.WaitingJobs(
            workflow.remote_execution_settings.seconds_between_status_checks,
            3600 * self._settings.submit_hours,
        )
        self._interruptions: dict[Any, int] = {}
        self._numbers: set[str] = set()  # of all jobs that SLURM is known to have accepted
        shared = {field.name for field in fields(plugin.ExecutorSettings)}
        given = {name: value for name, value in vars(self._settings).items() if name in shared}
        # Requeueing is an option of each job; the state of jobs is asked for here.
        unused = {"requeue": False, "status_command": None}
        given |= {name: value for name, value in unused.items() if name in shared}
        super().__init__(_WithSettings(workflow, plugin.ExecutorSettings(**given)), logger)
        # Of a job that waits for its next run, `sacct` says how the last one ended.
        first = "squeue" if self._settings.requeue else self._settings.status_command
        self._slurm = jobs.JobsInSlurm(self.run_uuid, first, logger)

    def additional_general_args(self) -> str:
        """Return arguments with which the Snakemake process on a node runs its jobs itself."""
        return "--executor local --resources turn=1"

    def format_job_exec(self, job: Any) -> str:
        """Return the command that runs a job on a node."""
        job = original(job)
        command = str(super().format_job_exec(job))
        if request_of(job).resumable:
            # Takes the place of the shell, to which SLURM sends its signal.
            return f"exec {shlex.quote(sys.executable)} -m run_until_signal {command}"
        return command

    def get_account_arg(self, job: Any) -> Iterator[str]:
        """Build the argument for the account; none where none is given, as SLURM has a default."""
        account = job.resources.get("slurm_account")
        yield f" -A {shlex.quote(str(account))}" if account else ""

    def run_job(self, job: Any) -> None:
        """Submit a job, unless SLURM accepts no others like it for now."""
        if not self._waiting.join(job):
            self._submit(job)

    def _submit(self, job: Any) -> None:
        """Submit a job; what fails is reported, or submitted later."""
        submitted = job
        try:
            limited = self._limited(job)
            submitted = jobs.SubmittedAs(job, jobs.changes(job, limited, self._settings))
            super().run_job(submitted)
        except (WorkflowError, InputError) as error:  # InputError: SLURM does not tell its nodes
            self.report_job_error(SubmittedJobInfo(submitted), msg=str(error))

    def _limited(self, job: Any) -> Request:
        """Return what is requested for a job: retries no more than the partition has."""
        limited = wanted = request_of(job)
        if job.attempt > 1:
            limited = within(wanted, slurm.nodes())
            if limited != wanted:
                self.logger.info(
                    f"Attempt {job.attempt} of {job.name} requests {limited.mem_mb} MB and "
                    f"{limited.minutes} minutes instead of {wanted.mem_mb} and {wanted.minutes}: "
                    "the partition has no more."
                )
        elif wanted.resumable:
            limited = startable(wanted, slurm.nodes())
        return limited

    def report_job_submission(self, job_info: Any, register_job: bool = True) -> None:
        """Record that a job was submitted."""
        job_info.aux["submitted"] = job_info.job.since
        job_info.job = original(job_info.job)
        self._waiting.accepted(job_info.job)
        self._numbers.add(job_info.external_jobid)
        super().report_job_submission(job_info, register_job=register_job)

    def report_job_error(self, job_info: Any, msg: str | None = None, **options: Any) -> None:
        """Report that a job has failed, or submit it later if SLURM refused it for now."""
        job = job_info.job = original(job_info.job)
        if job_info.external_jobid is None and passes(msg or ""):
            told = self._waiting.refused(job, _reason(msg or ""))
            if told:
                self.logger.warning(told)
            if told is not None:
                return
        self._waiting.leave(job)
        super().report_job_error(job_info, msg=msg, **options)

    async def check_active_jobs(self, active_jobs: Sequence[Any]) -> AsyncIterator[Any]:
        """Check the states of jobs, and yield those that have not ended."""
        self._submit_waiting()
        if not active_jobs:
            return
        async with self.status_rate_limiter:
            states = self._slurm.states([job.external_jobid for job in active_jobs])
        for job_info in active_jobs:
            if states is None or not self._has_ended(job_info, states):
                yield job_info

    def _submit_waiting(self) -> None:
        """Submit the jobs again whose time has come."""
        tried = self._waiting.tried()
        comments = {jobs.comment_of(job) for job in tried}
        if tried and not self._slurm.cancel_unknown(comments, self._numbers):
            return
        for job in self._waiting.due():
            self._submit(job)

    def _has_ended(self, job_info: Any, states: dict[str, str]) -> bool:
        """Whether a job has ended; if so, report it or submit it again."""
        if job_info.external_jobid not in states:
            return self._has_vanished(job_info)
        state = states[job_info.external_jobid]
        match meaning(state):
            case Meaning.RUNNING:
                return False
            case Meaning.COMPLETED:
                self._succeeded(job_info)
            case Meaning.TIMEOUT | Meaning.FAILED if self._has_stopped(job_info, state):
                self._interrupted(job_info, "TIME is over, and it has saved its state")
            case Meaning.INTERRUPTED:
                self._interrupted(job_info, normalized(state))
            case _:
                self._failed(job_info, state)
        return True

    def _has_vanished(self, job_info: Any) -> bool:
        """Treat a job that SLURM does not know: it has ended, and its files say how."""
        since = job_info.aux["submitted"]
        if slurm.has_accounting() and time.time() - since < _DELAY_SECONDS:
            return False
        if jobs.has_written_all(job_info.job, since):
            self._succeeded(job_info)
        else:
            self._interrupted(job_info, "SLURM no longer knows it")
        return True

    def _has_stopped(self, job_info: Any, state: str) -> bool:
        """Whether a job has saved its state as its time was over, so that another can go on."""
        job, since = job_info.job, job_info.aux["submitted"]
        if not request_of(job).resumable or not jobs.has_saved(job, since):
            return False
        stop = stop_file(Path.cwd(), job_info.external_jobid)
        told = stop.exists()
        stop.unlink(missing_ok=True)
        return told or meaning(state) == Meaning.TIMEOUT

    def _succeeded(self, job_info: Any) -> None:
        log = job_info.aux["slurm_logfile"]
        if not self._settings.keep_successful_logs:
            log.unlink(missing_ok=True)
        self.report_job_success(job_info)

    def _failed(self, job_info: Any, state: str) -> None:
        log = str(job_info.aux["slurm_logfile"])
        message = f"SLURM-job '{job_info.external_jobid}' failed, SLURM status is: '{state}'. "
        self.report_job_error(job_info, msg=message, aux_logs=[log])

    def _interrupted(self, job_info: Any, state: str) -> None:
        """Submit a job that was interrupted again, unless that has happened too often."""
        times = self._interruptions.get(job_info.job, 0)
        if times >= patience(state):
            self._failed(job_info, f"{state} ({times + 1} times)")
            return
        self._interruptions[job_info.job] = times + 1
        job, number = job_info.job, job_info.external_jobid
        self.logger.warning(
            f"SLURM-job {number} ({job.name}) was interrupted: {state}. It is submitted again with "
            "the same request, and this does not count as an attempt."
        )
        self._slurm.cancel([number])
        self.run_job(job)

    def cancel_jobs(self, active_jobs: Sequence[Any]) -> None:
        """Cancel jobs, as Snakemake is interrupted."""
        self._slurm.cancel([job_info.external_jobid for job_info in active_jobs])


def _reason(message: str) -> str:
    """Return what `sbatch` said of an error, without its command line."""
    quoted = message.partition("The error message was '")[2].partition("'.\n")[0] or message
    return slurm.last_lines(quoted)
