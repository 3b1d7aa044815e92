"""Checks of a SLURM cluster and its profile before jobs are submitted: `doctor --slurm`."""

import math
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from matcheval.errors import InputError
from matcheval.health import NOTE, OK, PROBLEM, Finding
from matcheval.io.user_files import read_yaml

PROFILE = Path("profiles/slurm/config.yaml")
# Resources for all jobs that have an effect, and the options of `sbatch` for some.
_OPTIONS = {"slurm_account": "account", "qos": "qos", "constraint": "constraint"}
_RESOURCES = (
    *_OPTIONS, "disk_mb", "gpu_partition", "max_runtime", "mem_mb", "runtime", "slurm_extra",
    "slurm_partition", "tmpdir",
)  # fmt: skip
# A shell script that says what is wrong with a file to write to, and with a program.
_LOOK = """
[ -e "$0" ] || echo "${0%/*} is not there or another one"
[ ! -e "$0" ] || [ -w "$0" ] || echo "${0%/*} cannot be written to"
[ -x "$1" ] || echo "$1 is not there"
"""


def run_slurm(*command: str) -> str:
    """Run a SLURM command; return its output, or raise an `InputError` if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise InputError(f"'{command[0]}' is not on PATH, or did not end: {error}") from error
    if done.returncode:
        raise InputError(f"'{command[0]}' failed: {' '.join(done.stderr.split())}")
    return done.stdout


def partition_limits() -> dict[str, float]:
    """Ask SLURM for its partitions; return their time limits in minutes, by name."""
    rows = run_slurm("sinfo", "--noheader", "--format=%R|%l").split()
    return {name: _parse_minutes(limit) for name, limit in (row.split("|") for row in rows)}


def _parse_minutes(limit: str) -> float:
    """Convert SLURM's [days-][hours:]minutes:seconds to minutes; a word means infinity."""
    if not limit[:1].isdigit():
        return math.inf
    days, _, clock = limit.rpartition("-")
    hours, minutes, seconds = [0, 0, *map(int, clock.split(":"))][-3:]
    return int(days or 0) * 1440 + hours * 60 + minutes + seconds / 60


def check_slurm() -> Iterator[Finding]:
    """Check whether SLURM is installed, and answers with its partitions."""
    if shutil.which("sinfo") is None:
        yield Finding("SLURM", OK, "not here: jobs run on this machine")
        return
    try:
        yield Finding("SLURM", OK, f"partitions {', '.join(partition_limits())}")
    except InputError as error:
        remedy = "On a cluster, run this on a login node, perhaps after `module load slurm`"
        yield Finding("SLURM", NOTE, f"its commands are here, but do not answer: {error}", remedy)


def check_profile(results: Path, profile: Path = PROFILE) -> Iterator[Finding]:
    """Check that the cluster takes jobs as a profile submits them, by submitting some."""
    settings = read_yaml(profile)
    default = settings.get("default-resources") or {}
    for name in set(default) - set(_RESOURCES):
        for close in get_close_matches(name, _RESOURCES, 1, 0.7):
            yield Finding(name, PROBLEM, "this resource has no effect", f"Is it '{close}'?")
    try:
        limits = partition_limits()
        yield _check_status_command(settings)
        for key in ("slurm_partition", "gpu_partition"):
            if key in default:
                yield from _check_partition(key, default, limits, results.resolve())
        queue = run_slurm("squeue", "--me", "--noheader", "--format=%i|%Z").splitlines()
    except InputError as error:
        yield Finding("SLURM", PROBLEM, str(error), "Run this on a login node of the cluster")
        return
    if jobs := " ".join(row.split("|")[0] for row in queue if row.endswith(f"|{Path.cwd()}")):
        note = f"jobs of an earlier run are in the queue, and a new run would repeat them: {jobs}"
        yield Finding("queue", NOTE, note, f"Wait until they have ended, or: scancel {jobs}")


def _check_status_command(settings: Mapping[str, Any]) -> Finding:
    """Check that the profile's command to ask for a job's status can tell that it has ended."""
    config = dict(re.findall(r"(?m)^(\w+) *= (\S+)", run_slurm("scontrol", "show", "config")))
    wait = int(settings.get("slurm-init-seconds-before-status-checks", 40))
    age, command = int(config["MinJobAge"]), settings.get("slurm-status-command", "sacct")
    has_accounting = config["AccountingStorageType"] not in ("accounting_storage/none", "(null)")
    if has_accounting or (command == "squeue" and age >= 3 * wait):
        return Finding("status", OK, f"by {command}")
    message = f"no accounting, and squeue knows ended jobs for {age} s: a run would hang"
    most = f"slurm-init-seconds-before-status-checks: {max(1, age // 3)} or less"
    return Finding("status", PROBLEM, message, f"slurm-status-command: squeue, and {most}")


def _check_partition(
    key: str, default: Mapping[str, Any], limits: Mapping[str, float], results: Path
) -> Iterator[Finding]:
    """Submit trial jobs to a partition: check its time limit, options, and view of the results."""
    name = str(default[key])
    if name not in limits:
        message = f"the cluster has no partition '{name}'"
        yield Finding(key, PROBLEM, message, f"{key}: {' or '.join(limits)}")
        return
    if (most := limits[name]) < float(default.get("max_runtime", math.inf)):
        message = f"'{name}' ends jobs after {most:g} minutes"
        yield Finding(key, PROBLEM, message, f"max_runtime: {most:g}, or less")
    chosen = {_OPTIONS[key]: value for key, value in default.items() if key in _OPTIONS}
    options = [f"--{option}={value}" for option, value in {"partition": name, **chosen}.items()]
    options += ["--gpus=1"] if key == "gpu_partition" else []
    later = ("--begin=now+1hour", "--output=/dev/null", "--wrap=true")
    try:
        output = run_slurm("sbatch", "--parsable", *later, *options).strip()
    except InputError as error:
        yield Finding(key, PROBLEM, f"{' '.join(options)}: {error}", f"Change it in {PROFILE}")
        return
    number, *others = reversed(re.findall(r"\d+", output.split(";")[0]))
    run_slurm("scancel", "--me", number)
    if others:
        message = f"sbatch says more than the job's number: {output!r}"
        yield Finding(key, PROBLEM, message, "docs/cluster.md, 'Faults'")
    yield _check_from_node(key, options, results)


def _check_from_node(key: str, options: list[str], results: Path) -> Finding:
    """Check on a node that the folder of results can be written and that Python is there."""
    results.mkdir(parents=True, exist_ok=True)
    probe = results / f".seen-{secrets.token_hex(4)}"
    probe.touch()
    srun = ("srun", "--quiet", "--ntasks=1", "--time=1", "--immediate=20", "--chdir=/", *options)
    try:
        wrong = run_slurm(*srun, "sh", "-c", _LOOK, str(probe), sys.executable).strip()
    except InputError as error:
        return Finding(key, NOTE, f"whether nodes see {results} was not checked: {error}")
    finally:
        probe.unlink()
    if wrong:
        remedy = "Run this in a folder, .venv included, that all nodes share and may write to"
        return Finding(key, PROBLEM, f"on a node, {', '.join(wrong.splitlines())}", remedy)
    return Finding(key, OK, f"takes jobs, which see {results} and may write to it")
