"""Messages of a run on the terminal: one line per job, a table of failures, where to start reading.

A dry run tells how many jobs of each kind there are. Snakemake's own messages are unchanged in its
log, `.snakemake/log/`, and in a dry run with `--verbose`.
"""

import logging
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from snakemake.logging import logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent

from matcheval.execution import run_summary
from matcheval.execution.run_summary import Failure, Job, RunRecord
from matcheval.stages import undecided
from matcheval.study.requests import Requests
from matcheval.study.stored import mixed_software
from matcheval.study.study import Study

# The name of Snakemake's handler for the terminal; those of logger plugins are left as they are.
_TERMINAL = "DefaultStreamHandler"
# Said between any two jobs.
_NOISE = re.compile(r"Select jobs to execute\.\.\.|Execute \d+ jobs\.\.\.")
# The clock of a file server may be behind.
_CLOCK_SECONDS = 60


class RunMessages(logging.Handler):
    """Takes note of a run from Snakemake's messages, and replaces those on the terminal."""

    def __init__(self, study: Study) -> None:
        super().__init__()
        self.run = RunRecord()
        self._study, self._since = study, time.time() - _CLOCK_SECONDS
        # By thread: the exception that Snakemake tells before it names the job.
        self._exceptions: dict[int | None, str] = {}
        self._in_failed_groups: set[int] = set()
        self._ended: list[Job] = []

    def warn_of_stored_results(self, digest: Callable[..., str]) -> None:
        """Warn of results that may be of other code."""
        for warning in undecided(digest):
            logger.warning(f"Warning: {warning}.")

    def start(self) -> None:
        """Begin, with a run."""
        for handler in logger.handlers:
            if handler.name == _TERMINAL and handler.formatter is not None:
                handler.setFormatter(_Formatter(handler.formatter, self))
                for each in list(handler.filters):
                    handler.removeFilter(each)
                    handler.addFilter(_Filter(each))
        logger.handlers.insert(0, self)  # the first, as the formatter writes what it has noted

    def on_success(self) -> None:
        """Tell what was made, and where to start reading."""
        pages = {"all results": self._study.report_page}
        pages |= {name: one.first_page for name, one in self._study.analyses.items()}
        self._tell(run_summary.success_page(self.run, pages))
        if warning := mixed_software(self._study):
            logger.warning(f"Warning: {warning}.")

    def on_error(self) -> None:
        """Tell which jobs failed, and why."""
        self._tell(run_summary.failure_page(self.run))

    def _tell(self, page: str) -> None:
        if page:
            logger.warning(f"\n{page}\n")

    def emit(self, record: Any) -> None:
        """Take note of a message."""
        match getattr(record, "event", None):
            case LogEvent.JOB_INFO:
                wildcards, outputs = dict(record.wildcards or {}), tuple(record.output)
                self.run.started[record.jobid] = Job(record.rule_name, wildcards, outputs)
            case LogEvent.JOB_FINISHED:
                self._ended.append(self.run.finish(record.job_id))
            case LogEvent.PROGRESS:
                self.run.total = record.total
            case LogEvent.ERROR:
                self._note_exception(record)
            case LogEvent.JOB_ERROR if record.jobid not in self._in_failed_groups:
                words = record.rule_msg or self._exceptions.pop(record.thread, "")
                self._fail(record.jobid, record.rule_name, record.log, words)
            case LogEvent.GROUP_ERROR:
                self._note_failed_group(record)

    def _note_exception(self, record: Any) -> None:
        """Keep it for the job named next; one about missing output names the job itself."""
        self._exceptions[record.thread] = record.msg
        missing = re.search(r"^Job (\d+) +completed successfully, but.*", record.msg, re.M | re.S)
        if missing:
            self._fail(int(missing[1]), "", [], missing[0])

    def _note_failed_group(self, record: Any) -> None:
        """Of a group, jobs have failed whose logs tell an error; if none does, it is the first."""
        jobs = record.job_error_info
        self._in_failed_groups.update(job["jobid"] for job in jobs)
        failed = [job for job in jobs if run_summary.error_of_job(job["log"], since=self._since)]
        for job in failed or jobs[:1]:
            self._fail(job["jobid"], job["rule_name"], [*job["log"], *record.aux_logs], "")

    def _fail(self, number: int, rule: str, logs: list[str], words: str) -> None:
        job = self.run.started.get(number, Job(rule))
        reason = run_summary.reason_of_failure(logs, since=self._since, executor=words)
        self.run.failed[number] = Failure(job, reason, logs[0] if logs else "")

    def progress_lines(self, done: int, total: int) -> str:
        """Return a line for each job that has ended since the last call."""
        ended, self._ended = self._ended, []
        return "\n".join(
            f"{_clock()} {number} of {total} ({number / total:.0%}): {job}"
            for number, job in enumerate(ended, done - len(ended) + 1)
        )


class _Formatter(logging.Formatter):
    """Writes lines that name rule, model and set; other messages are formatted as before."""

    def __init__(self, before: logging.Formatter, messages: RunMessages) -> None:
        super().__init__()
        self._before, self._messages = before, messages

    def format(self, record: Any) -> str:
        """Return the text of a message; nothing is written for an empty one."""
        run = self._messages.run
        match getattr(record, "event", None):
            case LogEvent.JOB_INFO:
                message = f": {record.rule_msg}" if record.rule_msg else ""
                return f"{_clock()} start {run.started[record.jobid]}{message}"
            case LogEvent.JOB_FINISHED:
                return ""  # its line comes with the numbers
            case LogEvent.PROGRESS:
                return self._messages.progress_lines(record.done, record.total)
            case LogEvent.JOB_ERROR:
                failure = run.failed.get(record.jobid)  # none for other jobs of a failed group
                return f"{_clock()} failed: {failure}" if failure else ""
            case LogEvent.GROUP_ERROR:
                return f"{_clock()} failed: group {record.groupid}"
        return self._before.format(record)


class _Filter(logging.Filter):
    """Lets failures pass that Snakemake hides with `quiet: rules`, and hides command lines."""

    def __init__(self, before: Any) -> None:
        super().__init__()
        self._before = before

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a message is written."""
        event = getattr(record, "event", None)
        if event in (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR):
            return Quietness.ALL not in self._before.quiet
        if event == LogEvent.ERROR and "CalledProcessError" in str(record.msg):
            return False  # the job's failure follows
        return not _NOISE.fullmatch(str(record.msg)) and bool(self._before.filter(record))


def shorten_plans(requests: Requests) -> None:
    """Let a dry run end after a table of its jobs, unless it is asked to be verbose."""
    from snakemake.dag import DAG  # not by itself, without a workflow

    count_jobs = DAG.stats

    def stats(dag: Any) -> tuple[str, dict[str, int]]:
        text, counts = count_jobs(dag)
        settings = dag.workflow.output_settings
        if not dag.workflow.dryrun:
            return text, counts
        if settings.verbose:  # also where the profile says not to list jobs
            for each in (one for handler in logger.handlers for one in handler.filters):
                each.quiet = set()
            return text, counts
        # What Snakemake takes for a wish to see no single jobs, which take as long as the plan.
        quiet = {Quietness.RULES, Quietness.PROGRESS}
        dag.workflow.output_settings = replace(settings, quiet=quiet)
        minutes = Counter[str]()
        for job in dag.needrun_jobs():
            if not job.rule.norun:
                minutes[job.rule.name] += requests.of(job.rule.name, job.wildcards).runtime
        minutes["total"] = minutes.total()
        width = max(map(len, counts))
        rows = [
            f"{name:{width}}  {count:>7,}  {minutes[name] / 60:>13,.1f}"
            for name, count in counts.items()
        ]
        head = f"{'job':{width}}  {'count':>7}  {'hours at most':>13}"
        rule = "  ".join(["-" * width, "-" * 7, "-" * 13])
        return "\n".join([
            "Job stats:", head, rule, *rows, "",
            "Hours are time limits, added up: small jobs take seconds of their ten minutes. This "
            "was a dry run; --verbose lists all jobs, with the reason for each.",
        ]), counts  # fmt: skip

    DAG.stats = stats


def _clock() -> str:
    return time.strftime("[%H:%M:%S]")
