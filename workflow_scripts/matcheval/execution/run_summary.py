"""What a run made, what failed and why, as texts that a person reads."""

import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matcheval.errors import printable
from matcheval.io.text_tables import counted

# Wildcards that name a model, or several together.
_MODELS = ("model", "scored", "tested", "experiment", "batch")
_MAX_FAILURES = 20
_HEADS = ("rule", "model", "set", "log", "reason")
# The end of a log is read: what stopped a job is there.
_TAIL_BYTES = 65_536
_MAX_LENGTH = 300
_FULL = 1 << 20  # bytes free on a disk that is taken for full
# An error of a command (`run_command`), of SLURM's daemon on the node, and the end of a traceback.
_ERROR = re.compile(r"(?:slurmstepd: )?error: (?P<text>.+)")
_EXCEPTION = re.compile(r"(?:\w+\.)*(?P<type>\w*(?:Error|Exception|Interrupt))(?:: (?P<text>.*))?")
_EXIT_STATUS = re.compile(r"returned non-zero exit status (\d+)|died with <Signals\.(\w+):")
# A shell reports a child that a signal ended by 128 and the signal's number.
_FIRST_SIGNAL = 128


@dataclass(frozen=True)
class Job:
    """A job of a run."""

    rule: str
    wildcards: Mapping[str, str] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """The model or the batch of models that it is of, or an empty text."""
        return ", ".join(v for name, v in self.wildcards.items() if name in _MODELS)

    @property
    def subject(self) -> str:
        """What else it is of: the set, pair or suite first, as in its rule's paths."""
        return ", ".join(v for name, v in self.wildcards.items() if name not in _MODELS)

    def __str__(self) -> str:
        """Return rule, model and set in one line."""
        return " ".join(filter(None, (self.rule, self.model, self.subject)))


@dataclass(frozen=True)
class Failure:
    """A job that failed."""

    job: Job
    reason: str
    log: str = ""

    def __str__(self) -> str:
        """Return the failure in one line."""
        return f"{self.job}: {self.reason}" + (f" (log: {self.log})" if self.log else "")


@dataclass
class RunRecord:
    """The jobs of a run, by Snakemake's numbers."""

    started: dict[int, Job] = field(default_factory=dict)
    finished: dict[int, Job] = field(default_factory=dict)
    failed: dict[int, Failure] = field(default_factory=dict)
    total: int = 0

    def finish(self, number: int) -> Job:
        """Note that a job has ended well, and return it."""
        self.failed.pop(number, None)
        self.finished[number] = self.started[number]
        return self.started[number]


def failure_page(record: RunRecord) -> str:
    """Return a table of the failed jobs, with what has been done and what to do."""
    if not record.failed:  # Ctrl-C, or a run that was refused before its first job
        ended = f"{counted(len(record.finished), 'job')} done" if record.started else "no job begun"
        return f"The run was stopped: {ended}. The same command goes on; what is done is kept."
    failures = list(record.failed.values())
    shown, others = failures[:_MAX_FAILURES], failures[_MAX_FAILURES:]
    done, left = len(record.finished), record.total - len(record.finished) - len(failures)
    head = f"{counted(len(failures), 'job')} failed; {done} of {record.total} are done"
    if left > 0:
        head += f", and {left} did not run"
    lines = [f"{head}.", ""]
    if shown:
        rows = [(f.job.rule, f.job.model, f.job.subject, f.log, f.reason) for f in shown]
        columns = [c for c in zip(_HEADS, *rows, strict=True) if any(c[1:])]
        lines += [*_aligned(list(zip(*columns, strict=True))), ""]
    if others:
        lines += [f"... and {_by_rule(failure.job for failure in others)}.", ""]
    lines.append("Once the cause is removed, the same command goes on; what is done is kept.")
    return "\n".join(lines)


def success_page(record: RunRecord, pages: Mapping[str, str]) -> str:
    """Return what a run made, and where to start reading."""
    made = [job for job in record.finished.values() if job.outputs]
    lines = [f"Made: {_by_rule(made)}."] if made else []
    there = [(page, name) for name, page in pages.items() if page and Path(page).is_file()]
    if there:
        return "\n".join([*lines, "Start reading here:", *(f"  {row}" for row in _aligned(there))])
    folders = {Path(file).parent for job in made for file in job.outputs}
    if folders:
        outermost = sorted(str(one) for one in folders if folders.isdisjoint(one.parents))
        lines.append(f"Files are in {', '.join(outermost)}.")
    return "\n".join(lines)


def _by_rule(jobs: Iterable[Job]) -> str:
    counts = Counter(job.rule for job in jobs)
    return ", ".join(f"{n} × {rule}" for rule, n in counts.items())


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of text in columns; the last one is as wide as it is."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def error_of_job(logs: Sequence[str], *, since: float) -> str:
    """Return the last error in the first log of a job that has one, or an empty text."""
    return next(filter(None, map(error_in, _texts(logs, since))), "")


def reason_of_failure(logs: Sequence[str], *, since: float, executor: str = "") -> str:
    """Tell in one line why a job failed."""
    status = _EXIT_STATUS.search(executor)  # which says nothing about the cause, but for signals
    last_lines = (text.rstrip().rpartition("\n")[2] for text in _texts(logs, since))
    found = (
        (_ending_signal(status) if status else "")
        or error_of_job(logs, since=since)
        or ("" if status else _one_line(executor))
        or next(filter(None, map(_one_line, last_lines)), "")
        or _without_message(logs)
    )
    return found if len(found) <= _MAX_LENGTH else found[: _MAX_LENGTH - 1] + "…"


def _without_message(logs: Sequence[str]) -> str:
    """Tell why a job has left no message: a full disk, or nothing is known."""
    folders = next((Path(log).absolute().parents for log in logs), ())
    folder = next((each for each in folders if each.is_dir()), None)
    if folder is not None and shutil.disk_usage(folder).free < _FULL:
        return f"the disk of {folder} is full. Free space there"
    return "it has left no message"


def error_in(log: str) -> str:
    """Return the last error in the text of a log, or an empty text."""
    lines = log.splitlines()
    for number in reversed(range(len(lines))):
        if match := _ERROR.fullmatch(lines[number]):
            return _one_line(match["text"])
        if match := _EXCEPTION.fullmatch(lines[number]):
            name = "" if match["type"] == "InputError" else match["type"]
            text = _one_line(" ".join([match["text"] or "", *lines[number + 1 :]]))
            return ": ".join(filter(None, (name, text)))
    return ""


def _texts(logs: Sequence[str], since: float) -> Iterator[str]:
    """The ends of the logs that were written since then."""
    for file in map(Path, logs):
        if file.is_file() and file.stat().st_mtime >= since:
            with file.open("rb") as stream:
                stream.seek(max(0, file.stat().st_size - _TAIL_BYTES))
                yield stream.read().decode("utf-8", errors="replace")


def _ending_signal(status: re.Match[str]) -> str:
    """Say which signal ended a command, if one did."""
    signals = {_FIRST_SIGNAL + one.value: one.name for one in signal.Signals}
    name = status[2] or signals.get(int(status[1]))
    hint = ", perhaps because the machine ran out of memory" if name == "SIGKILL" else ""
    return f"killed by {name}{hint}" if name else ""


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
