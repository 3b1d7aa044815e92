"""Queries of SLURM's commands: nodes, configuration and accounts of the cluster."""

import functools
import getpass
import re
import shutil
import subprocess
from dataclasses import dataclass
from enum import Enum

from matcheval.errors import InputError

PROFILE = "profiles/slurm/config.yaml"
NO_ACCOUNTING = "accounting_storage/none"
_TIMEOUT_SECONDS = 60
_DOWN_STATES = ("down", "drain", "drng", "fail", "maint", "unk", "inval", "no_respond")


@dataclass(frozen=True)
class Node:
    """A node as a member of one of its partitions."""

    name: str
    partition: str
    default: bool
    cpus: int
    mem_mb: int
    gpus: int
    minutes: float
    up: bool


def run_slurm(*command: str) -> str:
    """Run a command of SLURM."""
    if shutil.which(command[0]) is None:
        raise InputError(
            f"there is no '{command[0]}' on PATH",
            remedy="Run this where SLURM's commands are installed, such as on a login node of the "
            "cluster (perhaps after 'module load slurm'); without a cluster, use "
            "--profile profiles/laptop",
        )
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(f"'{command[0]}' did not finish in {_TIMEOUT_SECONDS} s") from error
    if result.returncode:
        raise InputError(f"'{command[0]}' failed: {last_lines(result.stderr)}")
    return result.stdout


def last_lines(text: str) -> str:
    """Join the last two lines of a command's output, for a message."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(lines[-2:]) or "no reason given"


@functools.cache
def nodes() -> tuple[Node, ...]:
    """All nodes, once for each of their partitions; queried once and cached for retries."""
    found = []
    for name, partition, cpus, mem_mb, gres, limit, state in rows(
        run_slurm("sinfo", "--noheader", "--Node", "--format=%N|%P|%c|%m|%G|%l|%t")
    ):
        up = not state.startswith(_DOWN_STATES) and not state.endswith("*")
        found.append(
            Node(
                name, partition.rstrip("*"), partition.endswith("*"), int(cpus.rstrip("+")),
                int(mem_mb.rstrip("+")), count_gpus(gres), minutes(limit), up,
            )
        )  # fmt: skip
    return tuple(found)


def rows(text: str) -> list[list[str]]:
    """Split the lines of a command's output into fields, which are separated by bars."""
    lines = (line for line in text.splitlines() if line.strip())
    return [[field.strip() for field in line.split("|")] for line in lines]


def count_gpus(gres: str) -> int:
    """Count the GPUs among the generic resources of a node."""
    total = 0
    for part in gres.split(","):
        words = part.split("(")[0].split(":")
        if words[0] == "gpu":
            total += int(words[-1]) if words[-1].isdigit() else 1
    return total


def minutes(limit: str) -> float:
    """Convert a time limit of SLURM to minutes."""
    if limit in ("infinite", "n/a", "UNLIMITED"):
        return float("inf")
    days, _, clock = limit.rpartition("-")
    parts = [int(part) for part in clock.split(":")]
    if not days and len(parts) < 3:  # minutes, minutes:seconds
        parts = [0, *parts]
    hours, mins, seconds = [*parts, 0, 0][:3]  # or days-hours, days-hours:minutes, ...
    return int(days or 0) * 1440 + hours * 60 + mins + seconds / 60


@functools.cache
def settings() -> dict[str, str]:
    """The configuration of the cluster by key; queried once and cached."""
    pairs = (line.partition("=") for line in run_slurm("scontrol", "show", "config").splitlines())
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def has_accounting() -> bool:
    """Whether the cluster has accounting: a database of jobs and accounts, which `sacct` reads."""
    return settings().get("AccountingStorageType", NO_ACCOUNTING) != NO_ACCOUNTING


def accounts() -> list[str]:
    """Names of the accounts that this user may charge, sorted."""
    rows = _listed("associations", f"user={getpass.getuser()}", "Account")
    return sorted({row[0] for row in rows if row[0]})


def submit_limits(account: str | None, qos: str | None) -> dict[str, int]:
    """Limits on the number of jobs that this user may have in the queue, by what sets them."""
    limits: dict[str, int] = {}
    user = getpass.getuser()
    if account is None:
        account = next((row[0] for row in _listed("users", f"name={user}", "DefaultAccount")), "")
    fields = ("Account", "DefaultQOS", "MaxSubmitJobs", "GrpSubmitJobs")
    for name, default, *numbers in _listed("associations", f"user={user}", *fields):
        if name.lower() == account.lower():
            qos = qos or default
            limits |= {f"account {name}": int(number) for number in numbers if number}
    fields = ("Name", "MaxSubmitJobsPerUser", "MaxSubmitJobsPerAccount", "GrpSubmitJobs")
    for name, *numbers in _listed("qos", *fields):
        if name == (qos or "normal"):
            limits |= {f"QOS {name}": int(number) for number in numbers if number}
    return limits


def _listed(what: str, *words: str) -> list[list[str]]:
    """Rows of a list of `sacctmgr`: its conditions, then its columns."""
    conditions = [word for word in words if "=" in word]
    columns = ",".join(word for word in words if "=" not in word)
    return rows(run_slurm("sacctmgr", "-nP", "list", what, *conditions, f"format={columns}"))


class Meaning(Enum):
    """What became of a job."""

    RUNNING = "running"
    COMPLETED = "completed"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


# https://slurm.schedmd.com/job_state_codes.html
_MEANINGS = {
    "COMPLETED": Meaning.COMPLETED,
    "TIMEOUT": Meaning.TIMEOUT,
    **dict.fromkeys(
        ("BOOT_FAIL", "CANCELLED", "NODE_FAIL", "PREEMPTED", "REVOKED"), Meaning.INTERRUPTED
    ),
    **dict.fromkeys(
        ("DEADLINE", "FAILED", "LAUNCH_FAILED", "OUT_OF_MEMORY", "RECONFIG_FAIL"), Meaning.FAILED
    ),
}
# Jobs that ended so are submitted again this many times before it counts as a failure. A cluster
# may preempt for as long as it is busy; a node that fails again and again may fail for the job.
_PATIENCE = {"PREEMPTED": 100, "REVOKED": 100, "TIME": 100}
_OTHER_PATIENCE = 3


def meaning(state: str) -> Meaning:
    """Return what became of a job, from its SLURM state."""
    return _MEANINGS.get(normalized(state), Meaning.RUNNING)


def normalized(state: str) -> str:
    """Return the name of a state without what SLURM adds to it."""
    words = state.split()
    return words[0].rstrip("+").upper() if words else ""


def patience(state: str) -> int:
    """Return how often a job that was interrupted in this way is submitted again."""
    return _PATIENCE.get(normalized(state), _OTHER_PATIENCE)


def parse_states(text: str) -> dict[str, str]:
    """Read lines of job numbers and states, separated by a bar."""
    return {row[0]: row[1] for row in rows(text) if len(row) > 1 and row[0]}


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
    r"munge|authentication (error|credential)|timed out|did not finish in|unable to contact|"
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
