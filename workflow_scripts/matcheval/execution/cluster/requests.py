"""Whether a cluster can run what is going to be asked of it; told before it is asked."""

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from matcheval.errors import ErrorCollector, InputError
from matcheval.execution.cluster import queries as asking
from matcheval.execution.cluster.queries import PROFILE, Node

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """What a job will ask of SLURM.

    Attributes
    ----------
    job : str
        What to call it in messages: its rule, or group.
    cpus, mem_mb, minutes, gpus : int
        Processors, memory in MB, time, GPUs.
    partition, account, qos, constraint : str or None
        As the profile has them.
    group : bool
        Whether it is a group of jobs.
    """

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

    @property
    def place(self) -> tuple[str | None, ...]:
        """Where it goes: what of it is not a number."""
        return (self.job, self.partition, self.account, self.qos, self.constraint)


def largest(requests: Iterable[Request]) -> list[Request]:
    """Take requests of one job and place together: the most of everything."""
    most: dict[tuple[str | None, ...], Request] = {}
    for one in requests:
        other = most.setdefault(one.place, one)
        numbers = ("cpus", "mem_mb", "minutes", "gpus")
        most[one.place] = replace(
            one, **{name: max(getattr(one, name), getattr(other, name)) for name in numbers}
        )
    return list(most.values())


def check_requests(requests: Iterable[Request], nodes: Sequence[Node]) -> None:
    """Check that some node can run each of some requests.

    Parameters
    ----------
    requests : iterable of Request
    nodes : sequence of Node
        All of the cluster, of `asking.nodes`.

    Raises
    ------
    InputError
        Naming every job that would never start, what it asks for, and what there is.
    """
    problems, wanted = ErrorCollector(), largest(requests)
    for place in dict.fromkeys(request.partition for request in wanted):
        with problems.collected():
            there = _nodes_of(place, nodes)
            for request in wanted:
                if request.partition == place:
                    with problems.collected():
                        _check_one(request, there)
    problems.raise_any()


def _nodes_of(place: str | None, nodes: Sequence[Node]) -> list[Node]:
    """Nodes of a partition, or of several that commas divide, or of the default one."""
    names = place.split(",") if place else [node.partition for node in nodes if node.default]
    there = [node for node in nodes if node.partition in names]
    if not there:
        known = ", ".join(sorted({node.partition for node in nodes}))
        raise InputError(
            f"the cluster has no partition '{place}'" if place else "there is no default partition",
            remedy=f"Set 'slurm_partition' or 'gpu_partition' in {PROFILE} to one of: {known}",
        )
    return there


def within(request: Request, nodes: Sequence[Node]) -> Request:
    """Cut a request's memory and time down to what its partition has.

    For jobs that are tried again with more than before. SLURM refuses what no node has, or (by
    default, where it is the time) keeps it waiting for ever.

    Parameters
    ----------
    request : Request
        Processors and GPUs are left as they are.
    nodes : sequence of Node
        All of the cluster, of `asking.nodes`.

    Returns
    -------
    Request
        What the node that can grant most of it has; as it was if no node has the rest.
    """

    def granted(node: Node) -> tuple[int, int]:
        return min(request.mem_mb, node.mem_mb), int(min(request.minutes, node.minutes))

    there = [
        node
        for node in _nodes_of(request.partition, nodes)
        if request.cpus <= node.cpus and request.gpus <= node.gpus
    ]
    if not there:
        return request
    # Products order nodes as their shares of what is asked for do.
    mem_mb, minutes = max(map(granted, there), key=math.prod)
    return replace(request, mem_mb=mem_mb, minutes=minutes)


def _check_one(request: Request, there: Sequence[Node]) -> None:
    place = there[0].partition
    _check_numbers(request, place, there)
    fitting = [node for node in there if _fits(request, node)]
    if not any(node.up for node in fitting):
        LOGGER.warning(
            "%s will wait until a node of partition '%s' that is down now comes back: %s",
            request.job, place, ", ".join(node.name for node in fitting),
        )  # fmt: skip


def _check_numbers(request: Request, place: str, there: Sequence[Node]) -> None:
    """Compare a request with the largest that a partition has of each thing, then of all."""
    beyond = []
    for name, wanted, most in (
        ("MB of memory", request.mem_mb, max(node.mem_mb for node in there)),
        ("processors", request.cpus, max(node.cpus for node in there)),
        ("GPUs", request.gpus, max(node.gpus for node in there)),
        ("minutes", request.minutes, max(node.minutes for node in there)),
    ):
        if wanted > most:
            beyond.append(f"{wanted} {name} (at most {most:g})")
    if not beyond and not any(_fits(request, node) for node in there):
        beyond.append(
            f"{request.cpus} processors, {request.mem_mb} MB, {request.gpus} GPUs and "
            f"{request.minutes} minutes together, which no node has"
        )
    if beyond:
        less = f"'--set-resources {request.job}:mem_mb=8000'"
        if request.group:
            less = f"'--group-components {request.job}=5' (less time)"
        raise InputError(
            f"{request.job} asks for {' and '.join(beyond)} in partition '{place}': it would wait "
            "for ever",
            remedy=f"Name a partition with larger nodes, or ask for less, as in {less}"
            + (" (without GPUs: inference.device=cpu)" if request.gpus else ""),
        )


def _fits(request: Request, node: Node) -> bool:
    return (
        request.cpus <= node.cpus
        and request.mem_mb <= node.mem_mb
        and request.gpus <= node.gpus
        and request.minutes <= node.minutes
    )


def check_accounts(requests: Iterable[Request]) -> None:
    """Check that the accounts which requests name are this user's.

    Raises
    ------
    InputError
        Naming the account, and those there are.
    """
    named = sorted({str(request.account) for request in requests if request.account})
    if not named:
        return
    if not asking.has_accounting():
        raise InputError(
            f"account '{named[0]}' is named, and the cluster keeps no accounts",
            remedy=f"Take 'slurm_account' out of {PROFILE}",
        )
    known = asking.accounts()
    for account in named:
        if account.lower() not in (name.lower() for name in known):
            raise InputError(
                f"account '{account}' is none of yours ({', '.join(known) or 'you have none'})",
                remedy=f"Set 'slurm_account' in {PROFILE}",
            )


def check_with_scheduler(requests: Iterable[Request]) -> None:
    """Let SLURM itself say whether it would take the requests, without submitting anything.

    Raises
    ------
    InputError
        With SLURM's own words: limits of a QOS, features no node has, and what else a site checks.
    """
    problems = ErrorCollector()
    for request in largest(requests):
        options = {
            "--partition": request.partition, "--account": request.account, "--qos": request.qos,
            "--constraint": request.constraint, "--cpus-per-task": request.cpus,
            "--mem": request.mem_mb, "--time": request.minutes, "--gpus": request.gpus or None,
        }  # fmt: skip
        given = [f"{key}={value}" for key, value in options.items() if value is not None]
        with problems.collected():
            try:
                asking.ask("sbatch", "--test-only", *given, "--wrap=true")
            except InputError as error:
                raise InputError(
                    f"SLURM would refuse {request.job} ({' '.join(given)}): {error}",
                    remedy=f"Change it in {PROFILE}",
                ) from error
    problems.raise_any()


def check_status_command(command: str | None, seconds_between: int) -> None:
    """Check that the way in which jobs are watched works on this cluster.

    Parameters
    ----------
    command : str or None
        `sacct` or `squeue`, as the executor is told.
    seconds_between : int
        Between two looks at the jobs.

    Raises
    ------
    InputError
        If finished jobs could not be told from lost ones.
    """
    if asking.has_accounting():
        return
    if command == "sacct":
        raise InputError(
            "jobs are to be watched with sacct, and the cluster keeps no accounts",
            remedy="Give '--slurm-status-command squeue'",
        )
    # With less than 120 s the executor uses sacct, whatever it is told.
    needed, kept = max(3 * seconds_between, 120), asking.min_job_age()
    if kept < needed:
        raise InputError(
            f"the cluster forgets finished jobs after {kept} s (MinJobAge) and keeps no accounts: "
            f"shorter than {needed} s, so that a job's end could be missed",
            remedy="Ask its administrators for a larger MinJobAge"
            + (", or look more often: --seconds-between-status-checks" if kept >= 120 else ""),
        )
