"""Runs of Snakemake with profiles/slurm on the test cluster, which are watched and disturbed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from engine import ROOT, Workflow
from slurm import Cluster

PROFILE = ROOT / "profiles" / "slurm"
BRIEF = Path(__file__).with_name("brief.smk")
# The waits of the profile, cut short.
POLL = (
    "--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1",
    "--latency-wait", "15",
)  # fmt: skip


class Run:
    """A folder, and runs of Snakemake in it on a cluster."""

    def __init__(self, folder: Path, cluster: Cluster, path: str = "") -> None:
        self.folder, self.cluster = folder, cluster
        self._path = path + os.pathsep if path else ""
        folder.mkdir(exist_ok=True)

    def command(self, *arguments: str) -> list[str]:
        """The command line of a run of brief jobs (brief.smk) of the given names."""
        names, *options = arguments
        return [
            sys.executable, "-m", "snakemake", "--snakefile", str(BRIEF), "--profile", str(PROFILE),
            "--retries", "1", *POLL, "--nocolor", "--config", f"names={names}", *options,
        ]  # fmt: skip

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a run; its output goes to a file."""
        environment = {**self.cluster.environment}
        environment["PATH"] = self._path + environment["PATH"]
        with (self.folder / "output.txt").open("w") as output:
            return subprocess.Popen(
                self.command(*arguments), cwd=self.folder, stdout=output, stderr=output, text=True,
                env=environment, start_new_session=True,
            )  # fmt: skip

    def finish(self, process: "subprocess.Popen[str]", *, code: int = 0) -> str:
        """Wait for a run's end, which must be as is said; its output. One that hangs is killed.

        The patience is for a machine that does much else: on an idle one, runs take 2 minutes.
        """
        try:
            process.wait(900)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        assert process.returncode == code, self.output
        return self.output

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run to the end, which must be as is said; the output."""
        return self.finish(self.start(*arguments), code=code)

    @property
    def output(self) -> str:
        """What the run has said so far."""
        return (self.folder / "output.txt").read_text()

    @property
    def starts(self) -> list[tuple[str, str]]:
        """Names of the jobs that have started, once for each start, with SLURM's number."""
        file = self.folder / "starts"
        lines = file.read_text().splitlines() if file.exists() else []
        return [(name, number) for name, number in map(str.split, lines)]

    def numbers(self, name: str) -> list[str]:
        """SLURM's numbers of the starts of a job."""
        return [number for one, number in self.starts if one == name]

    def state(self, number: str) -> str:
        """SLURM's state of a job."""
        one = ("-j", number, "--states=all", "-o", "%T")
        return self.cluster.command("squeue", "-h", *one).strip()

    def wait(self, condition: Callable[[], object], what: str, seconds: float = 300) -> None:
        """Wait until something is so."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"waited in vain for {what}:\n{self.output}")
            time.sleep(0.2)


class StudyRun(Run):
    """A tree of the workflow, and runs of its small study."""

    def __init__(self, workflow: Workflow, cluster: Cluster) -> None:
        super().__init__(workflow.folder, cluster)
        self.workflow = workflow

    def command(self, *arguments: str) -> list[str]:
        """The command line of a run of the study."""
        return [
            sys.executable, "-m", "snakemake", *arguments, "--nocolor", "--profile",
            "profiles/slurm", "--configfile", "small.yaml", *POLL,
        ]  # fmt: skip
