"""Checks that a cluster can run the jobs, before they are submitted."""

import difflib
import getpass
import json
import logging
import math
import secrets
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from matcheval.errors import ErrorCollector, InputError, check_known
from matcheval.execution.cluster import slurm
from matcheval.execution.cluster.slurm import PROFILE, Node, last_lines, run_slurm
from matcheval.io.files import atomic_file

LOGGER = logging.getLogger(__name__)
AMOUNTS = ("cpus", "mem_mb", "minutes", "gpus")  # of requests and nodes


@dataclass(frozen=True)
class Request:
    """What a job requests from SLURM."""

    job: str
    cpus: int
    mem_mb: int
    minutes: int
    gpus: int = 0
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    group: bool = False
    resumable: bool = False

    @property
    def place(self) -> tuple[str | None, ...]:
        """All that is not an amount: requests that agree in it can be combined."""
        return (self.job, self.partition, self.account, self.qos, self.constraint)


def largest(requests: Iterable[Request]) -> list[Request]:
    """Combine requests of the same job and place to one with the largest of each amount."""
    most: dict[tuple[str | None, ...], Request] = {}
    for one in requests:
        both = (one, most.get(one.place, one))
        amounts = {name: max(getattr(each, name) for each in both) for name in AMOUNTS}
        most[one.place] = replace(one, **amounts)
    return list(most.values())


def nodes_of(place: str | None, nodes: Sequence[Node]) -> list[Node]:
    """List the nodes of a partition, of several (separated by commas), or of the default one."""
    names = place.split(",") if place else [node.partition for node in nodes if node.default]
    found = [node for node in nodes if node.partition in names]
    if not found:
        known = ", ".join(sorted({node.partition for node in nodes}))
        missing = f"the cluster has no partition '{place}'" if place else "no default partition"
        remedy = f"Set 'slurm_partition' or 'gpu_partition' in {PROFILE} to one of: {known}"
        raise InputError(missing, remedy=remedy)
    return found


def within(request: Request, nodes: Sequence[Node]) -> Request:
    """Limit the memory and time of a request to what its partition has."""
    candidates = [
        (min(request.mem_mb, node.mem_mb), int(min(request.minutes, node.minutes)))
        for node in nodes_of(request.partition, nodes)
        if request.cpus <= node.cpus and request.gpus <= node.gpus
    ]
    if not candidates:
        return request
    # Comparing products of memory and time is the same as comparing products of granted fractions.
    mem_mb, minutes = max(candidates, key=math.prod)
    return replace(request, mem_mb=mem_mb, minutes=minutes)


def startable(request: Request, nodes: Sequence[Node]) -> Request:
    """Limit the time of a job that another one can continue to what its partition has."""
    if not request.resumable:
        return request
    short, of_partition = replace(request, minutes=0), nodes_of(request.partition, nodes)
    limits = (node.minutes for node in of_partition if fits(short, node))
    return replace(request, minutes=int(min(request.minutes, max(limits, default=math.inf))))


def sizes_of_groups(
    sizes: Mapping[str, int],
    groups: Mapping[str, str],
    longest: Mapping[str, tuple[int, str | None]],
    nodes: Sequence[Node],
) -> dict[str, int]:
    """Cut groups of jobs such that none requests more time than its partition has."""
    cut = dict(sizes)
    for rule, (minutes, partition) in longest.items():
        group = groups.get(rule)
        if group is not None and group in cut:
            limit = max(node.minutes for node in nodes_of(partition, nodes))
            cut[group] = max(1, int(min(cut[group], limit // minutes)))
    return cut


def fits(request: Request, node: Node) -> bool:
    """Whether a node is large enough for a request."""
    return all(getattr(request, amount) <= getattr(node, amount) for amount in AMOUNTS)


def check_requests(requests: Iterable[Request], nodes: Sequence[Node]) -> None:
    """Check that each request fits on a node of its partition."""
    problems, wanted = ErrorCollector(), largest(requests)
    for place in dict.fromkeys(request.partition for request in wanted):
        with problems.collected():
            of_partition = nodes_of(place, nodes)
            for request in (one for one in wanted if one.partition == place):
                with problems.collected():
                    _check_one(request, of_partition)
    problems.raise_any()


def _check_one(request: Request, nodes: Sequence[Node]) -> None:
    """Check each amount against the largest of the partition, then all of them on one node."""
    place, exceeded, less = nodes[0].partition, list[str](), list[str]()
    for name, key, amount in (
        ("MB of memory", "mem_mb", "mem_mb"), ("processors", "cpus_per_task", "cpus"),
        ("GPUs", "gpu", "gpus"), ("minutes", "runtime", "minutes"),
    ):  # fmt: skip
        asked, most = getattr(request, amount), max(getattr(node, amount) for node in nodes)
        if asked > most:
            exceeded.append(f"{asked} {name} (at most {most:g})")
            less.append(f"{request.job}:{key}={most:g}")
    fitting = [node for node in nodes if fits(request, node)]
    if not exceeded and not fitting:
        exceeded.append(
            f"{request.cpus} processors, {request.mem_mb} MB, {request.gpus} GPUs and "
            f"{request.minutes} minutes together, which no node has"
        )
    if exceeded:
        option = f"'--set-resources {' '.join(less or [f'{request.job}:mem_mb=8000'])}'"
        if request.group:
            option = f"'--group-components {request.job}=1' (fewer jobs together: less time)"
        option += " (without GPUs: inference.device=cpu)" if request.gpus else ""
        wanted = f"{request.job} requests {' and '.join(exceeded)} in partition '{place}'"
        remedy = f"Name a partition with larger nodes, or request less, as in {option}"
        raise InputError(f"{wanted}: it would never start", remedy=remedy)
    if not any(node.up for node in fitting):
        LOGGER.warning(
            "%s will wait until a node of partition '%s' that is down is available again: %s",
            request.job, place, ", ".join(node.name for node in fitting),
        )  # fmt: skip


def check_accounts(requests: Iterable[Request]) -> None:
    """Check that this user may charge the accounts of the requests."""
    named = sorted({str(request.account) for request in requests if request.account})
    if not named:
        return
    if not slurm.has_accounting():
        problem = f"account '{named[0]}' is set, but the cluster has no accounting"
        raise InputError(problem, remedy=f"Remove 'slurm_account' from {PROFILE}")
    known = slurm.accounts()
    for account in named:
        if account.lower() not in (name.lower() for name in known):
            yours = ", ".join(known) or "none"
            problem = f"account '{account}' is not one of your accounts ({yours})"
            raise InputError(problem, remedy=f"Set 'slurm_account' in {PROFILE}")


def check_submit_limit(requests: Iterable[Request], jobs: int | None) -> None:
    """Compare the number of jobs in the queue with what SLURM accepts of this user."""
    if not slurm.has_accounting():
        return
    numbers = Counter((one.account, one.qos) for one in requests)
    for (account, qos), number in sorted(numbers.items(), key=str):
        for place, most in slurm.submit_limits(account, qos).items():
            if min(number, jobs or number) > most:
                LOGGER.warning(
                    "SLURM accepts %d jobs at a time (%s), and up to %s are submitted: the others "
                    "wait in Snakemake and are submitted later. To be refused less often, set "
                    "'jobs: %d' in %s",
                    most, place, jobs or number, most, PROFILE,
                )  # fmt: skip


def place_options(request: Request) -> list[str]:
    """Return options of SLURM's commands that say where a job runs and who pays: no partition."""
    return _given_options(account=request.account, qos=request.qos, constraint=request.constraint)


def _given_options(**options: object) -> list[str]:
    named = ((key.replace("_", "-"), value) for key, value in options.items())
    return [f"--{key}={value}" for key, value in named if value]


def check_with_scheduler(requests: Iterable[Request]) -> None:
    """Check with `sbatch --test-only` that SLURM would accept the requests."""
    problems = ErrorCollector()
    for one in largest(requests):
        partition = _given_options(partition=one.partition)
        amounts = _given_options(
            cpus_per_task=one.cpus, mem=one.mem_mb, time=one.minutes, gpus=one.gpus
        )
        given = [*partition, *place_options(one), *amounts]
        with problems.collected():
            try:
                slurm.run_slurm("sbatch", "--test-only", *given, "--wrap=true")
            except InputError as error:
                problem = f"SLURM would refuse {one.job} ({' '.join(given)}): {error}"
                raise InputError(problem, remedy=f"Change the request in {PROFILE}") from error
    problems.raise_any()


def check_status_command(command: str | None, seconds_between: int) -> None:
    """Check that jobs can be monitored on this cluster in the way that is configured."""
    if slurm.has_accounting():
        return
    if command == "sacct":
        problem = "sacct cannot monitor jobs here: the cluster has no accounting"
        raise InputError(problem, remedy="Give '--matcheval-slurm-status-command squeue'")
    # If MinJobAge is below 120 s, the executor uses sacct regardless of the status command.
    needed = max(3 * seconds_between, 120)
    kept = int(slurm.settings().get("MinJobAge", "300 sec").split()[0])
    if kept < needed:
        often = ", or check more often: --seconds-between-status-checks" if kept >= 120 else ""
        raise InputError(
            f"finished jobs leave the queue after {kept} s (MinJobAge), and the cluster has no "
            f"accounting: {kept} s is shorter than {needed} s, so that the end of a job could be "
            "missed",
            remedy=f"Ask the administrators for a larger MinJobAge{often}",
        )


# Of workflow_scripts/snakemake_executor_plugin_matcheval_slurm, and the one that it is based on.
EXECUTOR = "matcheval-slurm"
_OTHER_EXECUTOR = "slurm"

# Resources that have an effect in Snakemake or its SLURM executor.
RESOURCES = (
    "clusters", "constraint", "cpus_per_gpu", "cpus_per_task", "disk", "disk_mb", "disk_mib", "gpu",
    "gpu_model", "gpu_partition", "gres", "mem", "mem_mb", "mem_mb_per_cpu", "mem_mib", "mpi",
    "nodes", "qos", "runtime", "saves", "slurm_account", "slurm_cluster", "slurm_extra",
    "slurm_partition", "tasks", "tasks_per_gpu", "tasks_per_node", "tmpdir", "turn",
)  # fmt: skip
# Names that are often used by mistake, and the names that have an effect.
_OFTEN_MEANT = {
    "account": "slurm_account", "partition": "slurm_partition", "gpus": "gpu", "time": "runtime",
    "walltime": "runtime", "memory": "mem_mb", "cpus": "cpus_per_task", "ncpus": "cpus_per_task",
}  # fmt: skip


def check_names(given: Iterable[str], known: Iterable[str], what: str, where: str) -> None:
    """Check that all names are known."""
    known, problems = sorted(known), ErrorCollector()
    for name in given:
        with problems.collected():
            check_known(what, [name], known, field=where)
    problems.raise_any()


def check_groups(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Check the names of groups for misspellings of the groups that rules are in."""
    known = set(known)
    misspelt = (name for name in given if name not in known and _closest(name, known))
    check_names(misspelt, known, "group", where)


def _closest(name: str, known: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=0.8)), None)


def check_resources(given: Iterable[str], where: str) -> None:
    """Check the names of resources for misspellings of resources that have an effect."""
    problems = ErrorCollector()
    for name in (one for one in given if one not in RESOURCES):
        with problems.collected():
            if meant := _OFTEN_MEANT.get(name) or _closest(name, RESOURCES):
                remedy = f"Did you mean '{meant}'?"
                raise InputError(f"resource '{name}' has no effect", field=where, remedy=remedy)
    problems.raise_any()


def check_executor(name: str) -> None:
    """Check that jobs are not submitted by the executor that this workflow's is based on."""
    if name == _OTHER_EXECUTOR:
        raise InputError(
            "the executor 'slurm' does not fit this workflow: it runs all jobs of a group at once, "
            "counts interrupted jobs as failures, and its array jobs were not tested",
            remedy=f"Use '--executor {EXECUTOR}', as profiles/slurm does. Its options begin with "
            f"--{EXECUTOR}- in place of --slurm-; groups in the profile replace array jobs",
        )


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
    try:
        known = list(map(str, json.loads(record.read_text(encoding="utf-8"))))
    except (FileNotFoundError, ValueError):
        known = []  # without a valid record, the tests are repeated
    results.mkdir(parents=True, exist_ok=True)
    for name, options in sorted(partitions.items(), key=str):
        partition = name or ""
        key = f"{results.resolve()} written in {partition}"
        if key in known:
            continue
        probe = results.resolve() / f".seen-by-nodes-{secrets.token_hex(4)}"
        probe.touch()
        try:
            problem = _problem_on_node(partition, options, [probe, *others])
        except InputError as error:
            message = "whether the nodes of partition '%s' see %s was not checked: %s"
            LOGGER.warning(message, partition, results, error)
            continue
        finally:
            probe.unlink()
        nodes = f"nodes of partition '{partition}'"
        if problem.startswith("missing "):
            file = problem.removeprefix("missing ")
            raise InputError(
                f"{nodes} do not see {results if file == str(probe) else file}",
                remedy="Run this in a folder that all nodes share (often below the home, project "
                "or scratch folders), with 'results' and .venv in such folders, too",
            )
        if problem:
            raise InputError(
                f"{nodes} cannot write to {results}: {problem}",
                remedy="Choose a folder for 'results' that the nodes may write to; some clusters "
                "mount the home folders read-only on their nodes",
            )
        known.append(key)
    with atomic_file(record) as partial:
        partial.write_text(json.dumps(known))


def _problem_on_node(partition: str, options: Sequence[str], files: Sequence[Path]) -> str:
    """Return the first file that a node misses, or what it says of writing to the first one."""
    command = [
        "srun", "--quiet", "--ntasks=1", "--mem=100", "--time=1", "--job-name=sees-results",
        f"--immediate={_PATIENCE_SECONDS}", "--chdir=/", *_given_options(partition=partition),
        *options, "sh", "-c", _MISSING, "sh", *map(str, files),
    ]  # fmt: skip
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=4 * _PATIENCE_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise InputError("no node is free") from error
    lines = result.stdout.splitlines()
    if lines[-1:] != ["looked"]:
        raise InputError(f"no node is free ({last_lines(result.stderr)})")
    return lines[0] if len(lines) > 1 else ""


def check_no_earlier_jobs(comments: Iterable[str], folder: Path) -> None:
    """Check that SLURM's queue contains none of the jobs, submitted by an earlier run."""
    wanted = set(comments)
    text = run_slurm(
        "squeue", "--noheader", f"--user={getpass.getuser()}", "--format=%i|%k|%Z",
        "--states=pending,running,completing,suspended,configuring",
    )  # fmt: skip
    rows = [row for row in slurm.rows(text) if len(row) > 2 and row[1] in wanted]
    jobs = [row[0] for row in rows if Path(row[-1]) == folder.resolve()]
    if jobs:
        numbers = " ".join(jobs)
        raise InputError(
            f"an earlier run's jobs are still in the queue and would be run twice: {numbers}",
            remedy="Wait until they end, then start again (their results are kept), or cancel "
            f"them: scancel {numbers}",
        )
