"""Why a job failed, in one line: from its log, its exit code and what the executor says."""

import re
import signal
from collections.abc import Sequence
from pathlib import Path

from matcheval.errors import printable

# The end of a log is read: what stopped a job is there.
_TAIL_BYTES = 65_536
_MAX_LENGTH = 300
# An error of a command (`run_command`), of SLURM's daemon on the node, and the end of a traceback.
_ERROR = re.compile(r"(?:slurmstepd: )?error: (?P<text>.+)")
_EXCEPTION = re.compile(r"(?:\w+\.)*(?P<type>\w*(?:Error|Exception|Interrupt))(?:: (?P<text>.*))?")
_EXIT_STATUS = re.compile(r"returned non-zero exit status (\d+)|died with <Signals\.(\w+):")
# A shell reports a child that a signal ended by 128 and the signal's number.
_FIRST_SIGNAL = 128


def error_of_job(logs: Sequence[str], *, since: float) -> str:
    """Return the last error in the first log of a job that has one, or an empty text."""
    return next(filter(None, map(error_in, _texts(logs, since))), "")


def reason_of_failure(logs: Sequence[str], *, since: float, executor: str = "") -> str:
    """Tell in one line why a job failed."""
    found = (
        _ending_signal(executor)
        or error_of_job(logs, since=since)
        or _words(executor)
        or next(filter(None, map(_last_line, _texts(logs, since))), "")
        or "it has left no message"
    )
    return found if len(found) <= _MAX_LENGTH else found[: _MAX_LENGTH - 1] + "…"


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


def _texts(logs: Sequence[str], since: float) -> list[str]:
    """The ends of the logs that were written since then."""
    files = [file for file in map(Path, logs) if file.is_file()]
    return [_tail(file) for file in files if file.stat().st_mtime >= since]


def _tail(file: Path) -> str:
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - _TAIL_BYTES))
        return stream.read().decode("utf-8", errors="replace")


def _ending_signal(executor: str) -> str:
    match = _EXIT_STATUS.search(executor)
    if match is None:
        return ""
    name = match[2]
    if name is None:
        number = int(match[1]) - _FIRST_SIGNAL
        if number not in {each.value for each in signal.Signals}:
            return ""
        name = signal.Signals(number).name
    hint = ", perhaps because the machine ran out of memory" if name == "SIGKILL" else ""
    return f"killed by {name}{hint}"


def _words(executor: str) -> str:
    """The executor's message; that a command failed says nothing about the cause."""
    return "" if _EXIT_STATUS.search(executor) else _one_line(executor)


def _last_line(log: str) -> str:
    return _one_line(log.rstrip().rpartition("\n")[2])


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
