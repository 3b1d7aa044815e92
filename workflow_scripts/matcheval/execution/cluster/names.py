"""Names in a profile that mean nothing: of rules, groups and resources."""

import difflib
from collections.abc import Iterable

from matcheval.errors import ErrorCollector, InputError, unknown_name_error

# Resources that Snakemake or its SLURM executor act on.
RESOURCES = (
    "clusters", "constraint", "cpus_per_gpu", "cpus_per_task", "disk", "disk_mb", "disk_mib", "gpu",
    "gpu_model", "gpu_partition", "gres", "mem", "mem_mb", "mem_mb_per_cpu", "mem_mib", "mpi",
    "nodes", "qos", "runtime", "slurm_account", "slurm_cluster", "slurm_extra", "slurm_partition",
    "tasks", "tasks_per_gpu", "tasks_per_node", "tmpdir", "turn",
)  # fmt: skip
# What people write for the executor's own names.
_OFTEN_MEANT = {
    "account": "slurm_account", "partition": "slurm_partition", "gpus": "gpu", "time": "runtime",
    "walltime": "runtime", "memory": "mem_mb", "cpus": "cpus_per_task", "ncpus": "cpus_per_task",
}  # fmt: skip


def check_names(given: Iterable[str], known: Iterable[str], what: str, where: str) -> None:
    """Refuse names that are not known.

    Parameters
    ----------
    given, known : iterable of str
    what : str
        What the names are of, for messages: `rule`.
    where : str
        The setting they are in: `set-resources`.

    Raises
    ------
    InputError
        Naming all of them, each with the known name it is like.
    """
    known, problems = sorted(known), ErrorCollector()
    for name in given:
        if name not in known:
            with problems.collected():
                raise unknown_name_error(what, name, known, field=where)
    problems.raise_any()


def check_groups(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuse sizes of groups whose name is nearly, and not quite, one that is used.

    The profile's sizes stay when the command line gives other groups; those have no effect, and
    are let through.

    Parameters
    ----------
    given, known : iterable of str
        Names of groups that have a size, and of those that rules are in.
    where : str
        The setting they are in.
    """
    known = set(known)
    alike = [
        name
        for name in given
        if name not in known and difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    ]
    check_names(alike, known, "group", where)


def check_resources(given: Iterable[str], where: str) -> None:
    """Refuse resources whose name is nearly, and not quite, one that is acted on.

    Names that are like no other are let through: a site may have resources of its own.

    Parameters
    ----------
    given : iterable of str
        Names of resources.
    where : str
        The setting they are in.

    Raises
    ------
    InputError
        Naming all of them, each with the name that was probably meant.
    """
    problems = ErrorCollector()
    for name in given:
        close = difflib.get_close_matches(name, RESOURCES, n=1, cutoff=0.8)
        meant = _OFTEN_MEANT.get(name) or (close[0] if close and name not in RESOURCES else None)
        if meant:
            with problems.collected():
                raise InputError(
                    f"resource '{name}' has no effect",
                    field=where,
                    remedy=f"Did you mean '{meant}'?",
                )
    problems.raise_any()
