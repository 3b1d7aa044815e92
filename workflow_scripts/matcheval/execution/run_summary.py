"""The table of a run's failed jobs, from Snakemake's log of the run and the logs of the jobs."""

import re
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

from matcheval.errors import printable
from matcheval.io.text_tables import counted

_MAX_FAILURES = 20
# The end of a log is read: what stopped a job is there.
_TAIL_BYTES = 65_536
_MAX_LENGTH = 300
# The clock of a file server may be behind.
_CLOCK_SECONDS = 60
_NO_MESSAGE = "it has left no message"

# What Snakemake's log says of jobs. Of a group, the errors are indented.
_JOB = re.compile(r"Job (?P<number>\d+): (?P<message>.+)")
_STATUS = re.compile(
    r"Command '(?P<command>.*)' (?:returned non-zero exit status (?P<code>\d+)"
    r"|died with <Signals\.(?P<signal>\w+): \d+>)\."
)
_FAILED = re.compile(r"\s*Error in rule (?P<rule>\w+):")
_FIELD = re.compile(r"\s+(?P<name>jobid|output|log): (?P<value>.+)")
_MISSING = re.compile(r"MissingOutputException in rule (?P<rule>\w+) .*")
_WITHOUT_OUTPUT = re.compile(r"Job (?P<number>\d+) +completed successfully, but.*")
_RETRY = re.compile(r"Trying to restart job (?P<number>\d+)\.")

# An error of a command (`run_command`), of SLURM's daemon on the node, and the end of a traceback.
_ERROR = re.compile(r"(?:slurmstepd: )?error: (?P<text>.+)")
_EXCEPTION = re.compile(r"(?:\w+\.)*(?P<type>\w*(?:Error|Exception|Interrupt))(?:: (?P<text>.*))?")
# A shell reports a child that a signal ended by 128 and the signal's number.
_FIRST_SIGNAL = 128


def failure_table(run_log: str | Path, began: float) -> str:
    """Return a table of the jobs that failed since a run began, from its log; empty if none did."""
    rows = [*_failures(Path(run_log).read_text(errors="replace"), began - _CLOCK_SECONDS)]
    # Those of a group that never ran have no message.
    rows.sort(key=lambda row: row[-1] == _NO_MESSAGE)
    if not rows:
        return ""
    lines = [f"{counted(len(rows), 'job')} failed:", ""]
    lines += _align_columns([("rule", "job", "log", "reason"), *rows[:_MAX_FAILURES]])
    if len(rows) > _MAX_FAILURES:
        lines.append(f"... and {len(rows) - _MAX_FAILURES} more: {run_log}")
    lines += ["", "Once the cause is removed, the same command goes on; what is done is kept."]
    return "\n".join(lines)


def _failures(text: str, since: float) -> Iterator[tuple[str, str, str, str]]:
    """Yield rule, job, log and reason of each job whose last attempt failed."""
    messages, statuses = dict[str, str](), list[re.Match[str]]()
    failed = dict[str, tuple[str, str, str, str]]()
    lines = text.splitlines()
    for place, line in enumerate(lines):
        if match := _JOB.fullmatch(line):
            messages[match["number"]] = match["message"]
        elif match := _STATUS.fullmatch(line):
            statuses.append(match)
        elif match := _RETRY.fullmatch(line):
            failed.pop(match["number"], None)
        elif match := _WITHOUT_OUTPUT.fullmatch(line):
            rule = _MISSING.fullmatch(lines[place - 1])
            number = match["number"]
            job = messages.get(number, "")
            failed[number] = (rule["rule"] if rule else "", job, "", _one_line(line))
        elif match := _FAILED.fullmatch(line):
            fields = _error_fields(lines[place + 1 :])
            number, log = fields.get("jobid", ""), fields.get("log", "")
            log = log.removesuffix(" (check log file(s) for error details)")
            status = _pop_status(statuses, fields["shell"])
            reason = _failure_reason(log.split(", ") if log else [], since, status)
            job = messages.get(number, fields.get("output", ""))
            failed[number] = (match["rule"], job, log, reason)
    yield from failed.values()


def _error_fields(lines: Sequence[str]) -> dict[str, str]:
    """Read the fields below `Error in rule`: job ID, output, log, and the command's first line."""
    fields = {"shell": ""}
    for place, line in enumerate(lines):
        if not line.startswith(" "):
            break
        if match := _FIELD.fullmatch(line):
            fields.setdefault(match["name"], match["value"])
        elif line.strip() == "shell:":
            fields["shell"] = lines[place + 1].strip()
    return fields


def _pop_status(statuses: list[re.Match[str]], command: str) -> re.Match[str] | None:
    """Remove and return a command's exit status; an empty command stands for any script."""
    for status in statuses:
        if (command or "/.snakemake/scripts/") in status["command"]:
            statuses.remove(status)
            return status
    return None


def _align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Join each row to a line, with cells padded so that the columns are aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _failure_reason(logs: Sequence[str], since: float, status: re.Match[str] | None) -> str:
    """Say in one line why a job failed: the signal that ended it, or the last error in its logs."""
    texts = [*_recent_log_ends(logs, since)]
    last_lines = (text.rstrip().rpartition("\n")[2] for text in texts)
    reason = (
        (_ending_signal(status) if status else "")
        or next(filter(None, map(last_error, texts)), "")
        or next(filter(None, map(_one_line, last_lines)), "")
        or _NO_MESSAGE
    )
    return reason if len(reason) <= _MAX_LENGTH else reason[: _MAX_LENGTH - 1] + "…"


def last_error(log: str) -> str:
    """Return the last error message in the text of a log, or an empty string."""
    lines = log.splitlines()
    for number in reversed(range(len(lines))):
        if match := _ERROR.fullmatch(lines[number]):
            return _one_line(match["text"])
        if match := _EXCEPTION.fullmatch(lines[number]):
            name = "" if match["type"] == "InputError" else match["type"]
            text = _one_line(" ".join([match["text"] or "", *lines[number + 1 :]]))
            return ": ".join(filter(None, (name, text)))
    return ""


def _recent_log_ends(logs: Sequence[str], since: float) -> Iterator[str]:
    """Yield the last part of each log file that was written since a time."""
    for file in map(Path, logs):
        if file.is_file() and file.stat().st_mtime >= since:
            with file.open("rb") as stream:
                stream.seek(max(0, file.stat().st_size - _TAIL_BYTES))
                yield stream.read().decode("utf-8", errors="replace")


def _ending_signal(status: re.Match[str]) -> str:
    """Say which signal ended a command; return an empty string if none did."""
    signals = {_FIRST_SIGNAL + s.value: s.name for s in signal.Signals}
    name = status["signal"] or signals.get(int(status["code"]))
    hint = ", perhaps because the machine ran out of memory" if name == "SIGKILL" else ""
    return f"killed by {name}{hint}" if name else ""


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
