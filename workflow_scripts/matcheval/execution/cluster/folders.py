"""Whether nodes see this folder's files, and whether an earlier run's jobs still write to it."""

import getpass
import json
import logging
import secrets
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from matcheval.errors import InputError
from matcheval.execution.cluster import queries as asking
from matcheval.io.files import atomic_file

LOGGER = logging.getLogger(__name__)

# Prints those of its arguments that are not there.
_MISSING = 'for f in "$@"; do [ -e "$f" ] || printf "%s\\n" "$f"; done; echo looked'
# How long to wait for a free node to ask.
_PATIENCE_SECONDS = 20


def check_shared(
    results: Path, others: Sequence[Path], partitions: Iterable[str | None], memory: Path
) -> None:
    """Check that a node of each partition sees the results folder, and other files.

    A job of a second on one node says so. What was found is remembered; where no node is free soon,
    nothing is found, and the run goes on.

    Parameters
    ----------
    results : Path
        Folder of results; made if missing.
    others : sequence of Path
        Files that jobs need as well: the workflow, the Python that runs it.
    partitions : iterable of str or None
        Where to look.
    memory : Path
        A file that remembers what was found.

    Raises
    ------
    InputError
        Naming what a node does not see.
    """
    known = _remembered(memory)
    results.mkdir(parents=True, exist_ok=True)
    for partition in sorted({name or "" for name in partitions}):
        key = f"{results.resolve()} in {partition}"
        if key in known:
            continue
        probe = results.resolve() / f".seen-by-nodes-{secrets.token_hex(4)}"
        probe.touch()
        try:
            missing = _missing_on_node(partition, [probe, *others])
        finally:
            probe.unlink()
        if missing is None:
            LOGGER.warning(
                "no node of partition '%s' is free to tell whether it sees %s: not checked",
                partition, results,
            )  # fmt: skip
            continue
        if missing:
            what = results if missing[0] == str(probe) else missing[0]
            raise InputError(
                f"nodes of partition '{partition}' do not see {what}",
                remedy="Run this in a folder that all nodes share (often below the home, project "
                "or scratch folders), with its 'results' and .venv in such folders, too",
            )
        known.append(key)
    with atomic_file(memory) as partial:
        partial.write_text(json.dumps(known))


def _remembered(memory: Path) -> list[str]:
    if not memory.is_file():
        return []
    try:
        return [str(key) for key in json.loads(memory.read_text(encoding="utf-8"))]
    except ValueError:
        return []  # it is only remembered: look again


def _missing_on_node(partition: str, files: Sequence[Path]) -> list[str] | None:
    """Those of some files that a node does not see; None if no node could be asked."""
    where = [f"--partition={partition}"] if partition else []
    command = [
        "srun", "--quiet", "--ntasks=1", "--mem=100", "--time=1", "--job-name=sees-results",
        f"--immediate={_PATIENCE_SECONDS}", "--chdir=/", *where,
        "sh", "-c", _MISSING, "sh", *map(str, files),
    ]  # fmt: skip
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=4 * _PATIENCE_SECONDS
        )
    except subprocess.TimeoutExpired:
        return None
    lines = result.stdout.splitlines()
    return lines[:-1] if lines and lines[-1] == "looked" else None


def check_no_earlier_jobs(comments: Iterable[str], folder: Path) -> None:
    """Refuse to submit jobs that an earlier run submitted and SLURM still has.

    A run that was killed leaves its jobs behind: they end by themselves, and what they make counts.

    Parameters
    ----------
    comments : iterable of str
        Of the jobs to be submitted; the executor tells SLURM what each is.
    folder : Path
        Where the workflow runs.

    Raises
    ------
    InputError
        Naming the jobs.
    """
    wanted = set(comments)
    text = asking.ask(
        "squeue", "--noheader", f"--user={getpass.getuser()}", "--format=%i|%k|%Z",
        "--states=pending,running,completing,suspended,configuring",
    )  # fmt: skip
    rows = [line.strip().split("|") for line in text.splitlines() if line.count("|") >= 2]
    jobs = [row[0] for row in rows if row[1] in wanted and Path(row[-1]) == folder.resolve()]
    if jobs:
        numbers = " ".join(jobs)
        raise InputError(
            f"an earlier run's jobs are still in the queue and would be done twice: {numbers}",
            remedy="Wait until they end, then start again (what they make is kept); or end them: "
            f"scancel {numbers}",
        )
