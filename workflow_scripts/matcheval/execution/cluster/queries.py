"""Questions to SLURM's commands, and their answers as data."""

import functools
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from matcheval.errors import InputError

PROFILE = "profiles/slurm/config.yaml"
_SECONDS = 60
NO_ACCOUNTING = "accounting_storage/none"


@dataclass(frozen=True)
class Node:
    """A node in one of its partitions.

    Attributes
    ----------
    name, partition : str
    default : bool
        Whether jobs that name no partition go to this one.
    cpus, mem_mb, gpus : int
        What it has in all.
    minutes : float
        Longest time of a job in the partition; infinite if there is no limit.
    up : bool
        Whether it takes jobs now or when it has finished others.
    """

    name: str
    partition: str
    default: bool
    cpus: int
    mem_mb: int
    gpus: int
    minutes: float
    up: bool


def ask(*command: str) -> str:
    """Run a command of SLURM's, and return its standard output.

    Raises
    ------
    InputError
        If there is no such command, or it fails; with what it says.
    """
    if shutil.which(command[0]) is None:
        raise InputError(
            f"there is no '{command[0]}' on PATH",
            remedy="Run this where SLURM's commands are, as on a login node of the cluster "
            "(perhaps after 'module load slurm'); or without a cluster: --profile profiles/laptop",
        )
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(f"'{command[0]}' gave no answer in {_SECONDS} s") from error
    if result.returncode:
        raise InputError(f"'{command[0]}' failed: {last_words(result.stderr)}")
    return result.stdout


def last_words(text: str) -> str:
    """What a command said last, as one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(lines[-2:]) or "no reason given"


@functools.cache
def nodes() -> tuple[Node, ...]:
    """Ask for all nodes, once for each of their partitions; the answer is kept for retries."""
    text = ask("sinfo", "--noheader", "--Node", "--format=%N|%P|%c|%m|%G|%l|%t")
    return tuple(_node(line.split("|")) for line in text.splitlines() if line.strip())


def _node(fields: Sequence[str]) -> Node:
    name, partition, cpus, mem_mb, gres, limit, state = (field.strip() for field in fields)
    down = ("down", "drain", "drng", "fail", "maint", "unk", "inval", "no_respond")
    return Node(
        name=name,
        partition=partition.rstrip("*"),
        default=partition.endswith("*"),
        cpus=int(cpus.rstrip("+")),
        mem_mb=int(mem_mb.rstrip("+")),
        gpus=count_gpus(gres),
        minutes=minutes(limit),
        up=not state.startswith(down) and not state.endswith("*"),
    )


def count_gpus(gres: str) -> int:
    """Count the GPUs of a node's generic resources, such as `gpu:a100:4(S:0-1),shard:8`."""
    total = 0
    for part in gres.split(","):
        words = part.split("(")[0].split(":")
        if words[0] == "gpu":
            total += int(words[-1]) if words[-1].isdigit() else 1
    return total


def minutes(limit: str) -> float:
    """Read a time of SLURM's, `days-hours:minutes:seconds`, in minutes."""
    if limit in ("infinite", "n/a", "UNLIMITED"):
        return float("inf")
    days, _, clock = limit.rpartition("-")
    parts = [int(part) for part in clock.split(":")]
    if days:  # days-hours, days-hours:minutes, ...
        hours, mins, seconds = [*parts, 0, 0][:3]
    elif len(parts) < 3:  # minutes, minutes:seconds
        hours, (mins, seconds) = 0, [*parts, 0][:2]
    else:
        hours, mins, seconds = parts
    return int(days or 0) * 1440 + hours * 60 + mins + seconds / 60


@functools.cache
def settings() -> dict[str, str]:
    """Ask for the cluster's configuration, by key."""
    pairs = (line.partition("=") for line in ask("scontrol", "show", "config").splitlines())
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def has_accounting() -> bool:
    """Whether the cluster keeps a database of jobs and accounts, which `sacct` reads."""
    return settings().get("AccountingStorageType", NO_ACCOUNTING) != NO_ACCOUNTING


def min_job_age() -> int:
    """Seconds for which finished jobs are still in the queue."""
    return int(settings().get("MinJobAge", "300 sec").split()[0])


def accounts() -> list[str]:
    """Ask for the accounts that this user may charge."""
    user = os.environ.get("USER") or str(os.getuid())
    text = ask("sacctmgr", "-nP", "list", "associations", f"user={user}", "format=account")
    return sorted({line.strip() for line in text.splitlines() if line.strip()})
