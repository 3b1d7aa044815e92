"""Whether studies can be run: Snakemake's rules, and SLURM where it is."""

import shutil
from collections.abc import Iterator

from matcheval.errors import InputError
from matcheval.execution.cluster import queries
from matcheval.health.findings import NOTE, OK, PROBLEM, Finding
from matcheval.health.versions import version_of
from matcheval.io.text_tables import counted
from matcheval.starting.commands import snakefile

_PLUGIN = "snakemake-executor-plugin-slurm"


def check_workflow() -> Iterator[Finding]:
    """Check that there are Snakemake and the workflow's rules."""
    version, rules = version_of("snakemake"), snakefile()
    if rules is None:
        yield Finding(
            "workflow", NOTE, "no Snakefile: this is not a checkout of the repository, so that "
            "studies cannot be run", "git clone the repository and work in its folder",
        )  # fmt: skip
    elif version is None:
        yield Finding("workflow", NOTE, "Snakemake is not installed: studies cannot be run",
                      "pip install '.[workflow]' in the repository, or `make demo`")  # fmt: skip
    else:
        yield Finding("workflow", OK, f"Snakemake {version}, {rules.absolute()}")


def check_slurm() -> Iterator[Finding]:
    """Ask SLURM, if it is here, for its partitions."""
    if shutil.which("sinfo") is None:
        yield Finding("SLURM", OK, "not here: jobs run on this machine")
        return
    try:
        nodes = queries.nodes()
    except (InputError, ValueError) as error:
        yield Finding(
            "SLURM", NOTE, f"its commands are here, but do not answer: {error}",
            "On a cluster, run this on a login node, perhaps after `module load slurm`",
        )  # fmt: skip
        return
    partitions: dict[str, list[queries.Node]] = {}
    for node in nodes:
        partitions.setdefault(node.partition, []).append(node)
    shown = [
        f"{name} ({counted(len(of), 'node')}{', GPUs' if any(node.gpus for node in of) else ''}"
        f"{'' if any(node.up for node in of) else ', down'})"
        for name, of in partitions.items()
    ]
    is_up = any(node.up for node in nodes)
    yield Finding(
        "SLURM", OK if is_up else PROBLEM, f"partitions {', '.join(shown) or 'none'}",
        "" if is_up else "No node can run jobs: ask those who run the cluster",
    )  # fmt: skip
    if version_of(_PLUGIN) is None:
        yield Finding("SLURM", NOTE, f"{_PLUGIN} is not installed: jobs cannot be submitted",
                      "make slurm, or pip install '.[workflow,slurm]'")  # fmt: skip
