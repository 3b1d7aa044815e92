"""Checks that a cluster can run the jobs, before they are submitted."""

import logging
from collections.abc import Iterable, Sequence

from matcheval.errors import ErrorCollector, InputError
from matcheval.execution.cluster import queries
from matcheval.execution.cluster.queries import PROFILE, Node
from matcheval.execution.cluster.requests import Request, fits, largest, nodes_of

LOGGER = logging.getLogger(__name__)


def check_requests(requests: Iterable[Request], nodes: Sequence[Node]) -> None:
    """Check that each request fits on a node of its partition."""
    problems, wanted = ErrorCollector(), largest(requests)
    for place in dict.fromkeys(request.partition for request in wanted):
        with problems.collected():
            of_partition = nodes_of(place, nodes)
            for request in wanted:
                if request.partition == place:
                    with problems.collected():
                        _check_one(request, of_partition)
    problems.raise_any()


def _check_one(request: Request, nodes: Sequence[Node]) -> None:
    place = nodes[0].partition
    _check_amounts(request, place, nodes)
    fitting = [node for node in nodes if fits(request, node)]
    if not any(node.up for node in fitting):
        LOGGER.warning(
            "%s will wait until a node of partition '%s' that is down is available again: %s",
            request.job, place, ", ".join(node.name for node in fitting),
        )  # fmt: skip


def _check_amounts(request: Request, place: str, nodes: Sequence[Node]) -> None:
    """Check each amount against the largest of the partition, then all of them on one node."""
    exceeded: list[str] = []
    less: list[str] = []
    for name, key, wanted, most in (
        ("MB of memory", "mem_mb", request.mem_mb, max(node.mem_mb for node in nodes)),
        ("processors", "cpus_per_task", request.cpus, max(node.cpus for node in nodes)),
        ("GPUs", "gpu", request.gpus, max(node.gpus for node in nodes)),
        ("minutes", "runtime", request.minutes, max(node.minutes for node in nodes)),
    ):
        if wanted > most:
            exceeded.append(f"{wanted} {name} (at most {most:g})")
            less.append(f"{request.job}:{key}={most:g}")
    if not exceeded and not any(fits(request, node) for node in nodes):
        exceeded.append(
            f"{request.cpus} processors, {request.mem_mb} MB, {request.gpus} GPUs and "
            f"{request.minutes} minutes together, which no node has"
        )
    if exceeded:
        way = f"'--set-resources {' '.join(less or [f'{request.job}:mem_mb=8000'])}'"
        if request.group:
            way = f"'--group-components {request.job}=1' (fewer jobs together: less time)"
        raise InputError(
            f"{request.job} requests {' and '.join(exceeded)} in partition '{place}': it would "
            "never start",
            remedy=f"Name a partition with larger nodes, or request less, as in {way}"
            + (" (without GPUs: inference.device=cpu)" if request.gpus else ""),
        )


def check_accounts(requests: Iterable[Request]) -> None:
    """Check that this user may charge the accounts of the requests."""
    named = sorted({str(request.account) for request in requests if request.account})
    if not named:
        return
    if not queries.has_accounting():
        raise InputError(
            f"account '{named[0]}' is set, but the cluster has no accounting",
            remedy=f"Remove 'slurm_account' from {PROFILE}",
        )
    known = queries.accounts()
    for account in named:
        if account.lower() not in (name.lower() for name in known):
            raise InputError(
                f"account '{account}' is not one of your accounts ({', '.join(known) or 'none'})",
                remedy=f"Set 'slurm_account' in {PROFILE}",
            )


def check_submit_limit(requests: Iterable[Request], jobs: int | None) -> None:
    """Compare the number of jobs in the queue with what SLURM accepts of this user."""
    wanted = list(requests)
    if not queries.has_accounting():
        return
    for account, qos in sorted({(one.account, one.qos) for one in wanted}, key=str):
        number = sum((one.account, one.qos) == (account, qos) for one in wanted)
        for place, most in queries.submit_limits(account, qos).items():
            if min(number, jobs or number) > most:
                LOGGER.warning(
                    "SLURM accepts %d jobs at a time (%s), and up to %s are submitted: the others "
                    "wait in Snakemake and are submitted later. To be refused less often, set "
                    "'jobs: %d' in %s",
                    most, place, jobs or number, most, PROFILE,
                )  # fmt: skip


def place_options(request: Request) -> list[str]:
    """Return options of SLURM's commands that say where a job runs and who pays, but the partition.

    Parameters
    ----------
    request : Request
        The request of a job.
    """
    options = {
        "--account": request.account, "--qos": request.qos, "--constraint": request.constraint,
    }  # fmt: skip
    return [f"{key}={value}" for key, value in options.items() if value is not None]


def check_with_scheduler(requests: Iterable[Request]) -> None:
    """Check with `sbatch --test-only` that SLURM would accept the requests."""
    problems = ErrorCollector()
    for request in largest(requests):
        options = {
            "--cpus-per-task": request.cpus, "--mem": request.mem_mb, "--time": request.minutes,
            "--gpus": request.gpus or None,
        }  # fmt: skip
        partition = [f"--partition={request.partition}"] if request.partition else []
        given = [*partition, *place_options(request)]
        given += [f"{key}={value}" for key, value in options.items() if value is not None]
        with problems.collected():
            try:
                queries.run_slurm("sbatch", "--test-only", *given, "--wrap=true")
            except InputError as error:
                raise InputError(
                    f"SLURM would refuse {request.job} ({' '.join(given)}): {error}",
                    remedy=f"Change the request in {PROFILE}",
                ) from error
    problems.raise_any()


def check_status_command(command: str | None, seconds_between: int) -> None:
    """Check that jobs can be monitored on this cluster in the way that is configured."""
    if queries.has_accounting():
        return
    if command == "sacct":
        raise InputError(
            "sacct cannot monitor jobs here: the cluster has no accounting",
            remedy="Give '--matcheval-slurm-status-command squeue'",
        )
    # If MinJobAge is below 120 s, the executor uses sacct regardless of the status command.
    needed, kept = max(3 * seconds_between, 120), queries.min_job_age()
    if kept < needed:
        raise InputError(
            f"finished jobs leave the queue after {kept} s (MinJobAge), and the cluster has no "
            f"accounting: {kept} s is shorter than {needed} s, so that the end of a job could be "
            "missed",
            remedy="Ask the administrators for a larger MinJobAge"
            + (", or check more often: --seconds-between-status-checks" if kept >= 120 else ""),
        )
