"""States of SLURM's jobs: what they mean for a run, and how they are asked for."""

import re
from enum import Enum

# https://slurm.schedmd.com/job_state_codes.html
_INTERRUPTED = ("BOOT_FAIL", "CANCELLED", "NODE_FAIL", "PREEMPTED", "REVOKED")
_FAILED = ("DEADLINE", "FAILED", "LAUNCH_FAILED", "OUT_OF_MEMORY", "RECONFIG_FAIL")
# Jobs that ended so are submitted again this many times before it counts as a failure. A cluster
# may preempt for as long as it is busy; a node that fails again and again may fail for the job.
_PATIENCE = {"PREEMPTED": 100, "REVOKED": 100, "TIME": 100}
_OTHER_PATIENCE = 3


class Meaning(Enum):
    """What a state means for the job."""

    RUNNING = "running"
    COMPLETED = "completed"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


def meaning(state: str) -> Meaning:
    """Return what a state of SLURM means."""
    name = normalized(state)
    if name == "COMPLETED":
        return Meaning.COMPLETED
    if name == "TIMEOUT":
        return Meaning.TIMEOUT
    if name in _INTERRUPTED:
        return Meaning.INTERRUPTED
    return Meaning.FAILED if name in _FAILED else Meaning.RUNNING


def normalized(state: str) -> str:
    """Return the name of a state without what SLURM adds to it."""
    words = state.split()
    return words[0].rstrip("+").upper() if words else ""


def patience(state: str) -> int:
    """Return how often a job that was interrupted in this way is submitted again."""
    return _PATIENCE.get(normalized(state), _OTHER_PATIENCE)


def parse_states(text: str) -> dict[str, str]:
    """Read lines of job numbers and states, separated by a bar."""
    rows = [line.strip().split("|") for line in text.splitlines() if "|" in line]
    return {row[0]: row[1].strip() for row in rows if row[0]}


def status_command(program: str, name: str, since: str) -> list[str]:
    """Return the command that lists all jobs of a run."""
    if program == "squeue":
        return ["squeue", "--noheader", "--states=all", f"--name={name}", "--format=%i|%T"]
    return [
        "sacct", "--allocations", "--parsable2", "--noheader", f"--name={name}",
        "--format=JobIDRaw,State", f"--starttime={since}",
    ]  # fmt: skip


# Reasons for which `sbatch` refuses a job now and accepts it later. Limits on a single job
# (QOSMaxCpuPerJobLimit) are not among them: they are the same at every attempt.
_PASSING = re.compile(
    r"munge|authentication (error|credential)|timed out|unable to contact|"
    r"connection (refused|reset)|temporarily unable|resource temporarily unavailable|"
    r"zero bytes were transmitted|in standby mode|"
    r"(QOS|Assoc)(Max|Grp)\w+|job violates accounting/QOS policy",
    re.IGNORECASE,
)
_FOR_GOOD = re.compile(r"(QOS|Assoc)\w*Per(Job|Node)\w*", re.IGNORECASE)


def passes(message: str) -> bool:
    """Whether a submission that failed with this message may succeed later."""
    return bool(_PASSING.search(message)) and not _FOR_GOOD.search(message)


def pause(failures: int, shortest: float) -> float:
    """Return the seconds until a failed submission is repeated: twice as long each time."""
    return float(min(shortest * 2 ** min(failures - 1, 10), max(300.0, shortest)))
