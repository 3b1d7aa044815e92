"""What jobs request from SLURM, and how requests are limited to what a cluster has."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from matcheval.errors import InputError
from matcheval.execution.cluster.queries import PROFILE, Node


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
        other = most.setdefault(one.place, one)
        numbers = ("cpus", "mem_mb", "minutes", "gpus")
        most[one.place] = replace(
            one, **{name: max(getattr(one, name), getattr(other, name)) for name in numbers}
        )
    return list(most.values())


def nodes_of(place: str | None, nodes: Sequence[Node]) -> list[Node]:
    """List the nodes of a partition, of several (separated by commas), or of the default one."""
    names = place.split(",") if place else [node.partition for node in nodes if node.default]
    found = [node for node in nodes if node.partition in names]
    if not found:
        known = ", ".join(sorted({node.partition for node in nodes}))
        raise InputError(
            f"the cluster has no partition '{place}'" if place else "there is no default partition",
            remedy=f"Set 'slurm_partition' or 'gpu_partition' in {PROFILE} to one of: {known}",
        )
    return found


def within(request: Request, nodes: Sequence[Node]) -> Request:
    """Limit the memory and time of a request to what its partition has."""

    def granted(node: Node) -> tuple[int, int]:
        return min(request.mem_mb, node.mem_mb), int(min(request.minutes, node.minutes))

    candidates = [
        node
        for node in nodes_of(request.partition, nodes)
        if request.cpus <= node.cpus and request.gpus <= node.gpus
    ]
    if not candidates:
        return request
    # Comparing products of memory and time is the same as comparing products of granted fractions.
    mem_mb, minutes = max(map(granted, candidates), key=math.prod)
    return replace(request, mem_mb=mem_mb, minutes=minutes)


def startable(request: Request, nodes: Sequence[Node]) -> Request:
    """Limit the time of a job that another one can continue to what its partition has."""
    if not request.resumable:
        return request
    fitting = [
        node.minutes
        for node in nodes_of(request.partition, nodes)
        if fits(replace(request, minutes=0), node)
    ]
    return replace(request, minutes=int(min(request.minutes, max(fitting, default=math.inf))))


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
    return (
        request.cpus <= node.cpus
        and request.mem_mb <= node.mem_mb
        and request.gpus <= node.gpus
        and request.minutes <= node.minutes
    )
