"""Checks of the names of rules, groups, resources and executors in a profile."""

import difflib
from collections.abc import Iterable

from matcheval.errors import ErrorCollector, InputError, unknown_name_error

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
        if name not in known:
            with problems.collected():
                raise unknown_name_error(what, name, known, field=where)
    problems.raise_any()


def check_groups(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Check the names of groups for misspellings of the groups that rules are in."""
    known = set(known)
    alike = [
        name
        for name in given
        if name not in known and difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    ]
    check_names(alike, known, "group", where)


def check_resources(given: Iterable[str], where: str) -> None:
    """Check the names of resources for misspellings of resources that have an effect."""
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


def check_executor(name: str) -> None:
    """Check that jobs are not submitted by the executor that this workflow's is based on."""
    if name == _OTHER_EXECUTOR:
        raise InputError(
            "the executor 'slurm' does not fit this workflow: it runs all jobs of a group at once, "
            "counts interrupted jobs as failures, and its array jobs were not tested",
            remedy=f"Use '--executor {EXECUTOR}', as profiles/slurm does. Its options begin with "
            f"--{EXECUTOR}- in place of --slurm-; groups in the profile replace array jobs",
        )
