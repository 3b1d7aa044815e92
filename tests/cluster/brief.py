"""Runs of brief jobs, without the workflow, by its executor on a test cluster."""

import sys
from collections.abc import Mapping
from pathlib import Path

from runs import Run
from slurm import Cluster

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"
# Jobs wait until there is a file `go`. Their partition and name are the same, if there is such a
# partition.
SNAKEFILE = """\
NAMES = config["names"].split(",")

rule all:
    input: expand("out/{n}.txt", n=NAMES)

rule work:
    output: "out/{n}.txt"
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=10,
        slurm_partition=lambda wildcards: (
            wildcards.n if wildcards.n in ("spare", "again", "gpu") else "cpu"
        ),
    shell:
        "echo {wildcards.n} $SLURM_JOB_ID >> starts;"
        " while [ ! -e go ]; do sleep 0.1; done; echo ok > {output}"
"""


class BriefRun(Run):
    """A folder with brief jobs, and runs of them."""

    def __init__(self, folder: Path, cluster: Cluster, packages: Path | None = None) -> None:
        super().__init__(folder, cluster)
        folder.mkdir()
        (folder / "Snakefile").write_text(SNAKEFILE)
        self._path = [str(SCRIPTS), *([str(packages)] if packages else [])]

    def command(self, *arguments: str) -> list[str]:
        """The command line of a run of jobs of the given names, and with further options."""
        names, *options = arguments
        return [
            sys.executable, "-m", "snakemake", "--nocolor", "--executor", "matcheval-slurm",
            "--jobs", "20", "--cores", "4", "--retries", "1", "--latency-wait", "15",
            "--seconds-between-status-checks", "1", "--config", f"names={names}", *options,
        ]  # fmt: skip

    @property
    def environment(self) -> Mapping[str, str]:
        """The cluster's, with the executor and perhaps another version of what it is based on."""
        return {**self.cluster.environment, "PYTHONPATH": ":".join(self._path)}

    @property
    def memory(self) -> set[str]:
        """Memory that the run's jobs requested, of those that SLURM still knows."""
        rows = self.cluster.command("squeue", "-h", "--states=all", "-o", "%m|%Z").splitlines()
        return {
            memory
            for memory, folder in (row.split("|") for row in rows)
            if folder == str(self.folder)
        }
