"""Checks that nodes see and may write the files of a run, and that no earlier jobs do so."""

import getpass
import json
import logging
import secrets
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from matcheval.errors import InputError
from matcheval.execution.cluster.queries import last_lines, run_slurm
from matcheval.io.files import atomic_file

LOGGER = logging.getLogger(__name__)

# A shell script that writes to its first argument and prints what the system says if it cannot, or
# which of its arguments do not exist; and then `looked`.
_MISSING = (
    'for f in "$@"; do [ -e "$f" ] || printf "missing %s\\n" "$f"; done; '
    '{ [ ! -e "$1" ] || true >> "$1"; } 2>&1; echo looked'
)
# How long to wait for a free node.
_PATIENCE_SECONDS = 20


def check_shared(
    results: Path,
    others: Sequence[Path],
    partitions: Mapping[str | None, Sequence[str]],
    record: Path,
) -> None:
    """Check that nodes see the results folder and other files, and may write to the folder."""
    known = _read_record(record)
    results.mkdir(parents=True, exist_ok=True)
    for name, options in sorted(partitions.items(), key=str):
        partition = name or ""
        key = f"{results.resolve()} written in {partition}"
        if key in known:
            continue
        probe = results.resolve() / f".seen-by-nodes-{secrets.token_hex(4)}"
        probe.touch()
        try:
            missing, reason = _missing_on_node(partition, options, [probe, *others])
        finally:
            probe.unlink()
        if missing is None:
            LOGGER.warning(
                "whether the nodes of partition '%s' see %s was not checked: %s",
                partition, results, reason,
            )  # fmt: skip
            continue
        if missing and not missing[0].startswith("missing "):
            raise InputError(
                f"nodes of partition '{partition}' cannot write to {results}: {missing[0]}",
                remedy="Choose a folder for 'results' that the nodes may write to; some clusters "
                "mount the home folders read-only on their nodes",
            )
        if missing:
            file = missing[0].removeprefix("missing ")
            hidden = results if file == str(probe) else file
            raise InputError(
                f"nodes of partition '{partition}' do not see {hidden}",
                remedy="Run this in a folder that all nodes share (often below the home, project "
                "or scratch folders), with 'results' and .venv in such folders, too",
            )
        known.append(key)
    with atomic_file(record) as partial:
        partial.write_text(json.dumps(known))


def _read_record(record: Path) -> list[str]:
    if not record.is_file():
        return []
    try:
        return [str(key) for key in json.loads(record.read_text(encoding="utf-8"))]
    except ValueError:
        return []  # without a valid record, the tests are repeated


def _missing_on_node(
    partition: str, options: Sequence[str], files: Sequence[Path]
) -> tuple[list[str] | None, str]:
    """List the files that a node does not see, and what it says of writing to the first one."""
    where = [f"--partition={partition}"] if partition else []
    command = [
        "srun", "--quiet", "--ntasks=1", "--mem=100", "--time=1", "--job-name=sees-results",
        f"--immediate={_PATIENCE_SECONDS}", "--chdir=/", *where, *options,
        "sh", "-c", _MISSING, "sh", *map(str, files),
    ]  # fmt: skip
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=4 * _PATIENCE_SECONDS
        )
    except subprocess.TimeoutExpired:
        return None, "no node is free"
    lines = result.stdout.splitlines()
    if lines and lines[-1] == "looked":
        return lines[:-1], ""
    return None, f"no node is free ({last_lines(result.stderr)})"


def check_no_earlier_jobs(comments: Iterable[str], folder: Path) -> None:
    """Check that SLURM's queue contains none of the jobs, submitted by an earlier run."""
    wanted = set(comments)
    text = run_slurm(
        "squeue", "--noheader", f"--user={getpass.getuser()}", "--format=%i|%k|%Z",
        "--states=pending,running,completing,suspended,configuring",
    )  # fmt: skip
    rows = [line.strip().split("|") for line in text.splitlines() if line.count("|") >= 2]
    jobs = [row[0] for row in rows if row[1] in wanted and Path(row[-1]) == folder.resolve()]
    if jobs:
        numbers = " ".join(jobs)
        raise InputError(
            f"an earlier run's jobs are still in the queue and would be run twice: {numbers}",
            remedy="Wait until they end, then start again (their results are kept), or cancel "
            f"them: scancel {numbers}",
        )
