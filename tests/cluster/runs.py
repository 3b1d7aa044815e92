"""Runs of the workflow with profiles/slurm on the test cluster, which are watched and disturbed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from engine import SMALL_CATALOGUE, Workflow
from slurm import Cluster

# Put at the head of train.py: what a model does before it is trained, by its name. A model
# `hold...` waits until there is a file `go`, or one for it; the others misbehave at their first
# start, or always.
DISTURBANCE = """
import os, pathlib, sys, time
_name = sys.argv[sys.argv.index("--name") + 1]
with open("starts", "a") as _file:
    _file.write(f"{_name} {os.environ.get('CUDA_VISIBLE_DEVICES') or '-'}\\n")
_first = pathlib.Path("starts").read_text().split().count(_name) == 1
if _name == "greedy" and _first:
    _ballast = b"x" * (2200 << 20)
    time.sleep(120)
if _name == "slow" and _first:
    time.sleep(600)
if _name == "broken":
    sys.exit("error: this model fails for good")
while _name.startswith("hold") and not any(map(os.path.exists, ["go", f"go.{_name}"])):
    time.sleep(0.1)
"""

# Put at the head of train.py and predict.py: on a node, the first job of these names
# goes no further than its first epoch or dataset, until it is told that its time is nearly over.
UNTIL_TOLD = """
import os, pathlib, sys, time
_words = " ".join(sys.argv)
if "SLURM_JOB_ID" in os.environ and any(name in _words for name in {names}):
    _file = pathlib.Path("{starts}")
    _told, _first = is_to_stop(), not _file.exists()
    with _file.open("a") as _stream:
        _stream.write(os.environ["SLURM_JOB_ID"] + "\\n")

    def _wait():
        while _first and not _told():
            time.sleep(0.1)
        return _told()

    is_to_stop = lambda: _wait
"""
MAIN = 'if __name__ == "__main__":'


class Run:
    """A folder, and runs of Snakemake in it on a cluster."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        self.folder, self.cluster = folder, cluster

    def command(self, *arguments: str) -> list[str]:
        """The command line of a run."""
        raise NotImplementedError

    def start(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[str]":
        """Start a run; its output goes to a file."""
        with (self.folder / "output.txt").open("w") as output:
            return subprocess.Popen(
                self.command(*arguments), cwd=self.folder, stdout=output, stderr=output, text=True,
                env=dict(environment or self.environment), start_new_session=True,
            )  # fmt: skip

    def finish(self, process: "subprocess.Popen[str]", *, code: int = 0) -> str:
        """Wait for a run's end, which must be as is said; its output. One that hangs is killed.

        The patience is for a machine that does much else: on an idle one, runs take 2 minutes.
        """
        try:
            process.wait(1800)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        assert process.returncode == code, self.output
        return self.output

    def run(
        self, *arguments: str, environment: Mapping[str, str] | None = None, code: int = 0
    ) -> str:
        """Run to the end, which must be as is said; the output."""
        return self.finish(self.start(*arguments, environment=environment), code=code)

    @property
    def environment(self) -> Mapping[str, str]:
        """The cluster's."""
        return self.cluster.environment

    @property
    def output(self) -> str:
        """What the run has said so far."""
        return (self.folder / "output.txt").read_text()

    @property
    def starts(self) -> list[str]:
        """Names of the models whose training started, once for each start."""
        return [name for name, _ in self.starts_on]

    @property
    def starts_on(self) -> list[tuple[str, str]]:
        """The same, with the GPUs that the training sees."""
        file = self.folder / "starts"
        lines = file.read_text().splitlines() if file.exists() else []
        return [(name, gpus) for name, gpus in map(str.split, lines)]

    def wait(self, condition: Callable[[], object], what: str, seconds: float = 900) -> None:
        """Wait until something is so."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"waited in vain for {what}:\n{self.output}")
            time.sleep(0.2)


class ClusterRun(Run):
    """A tree of the workflow, and runs of Snakemake in it on a cluster."""

    def __init__(self, workflow: Workflow, cluster: Cluster) -> None:
        super().__init__(workflow.folder, cluster)
        self.workflow = workflow
        self.python = sys.executable

    def add_models(self, *names: str) -> None:
        """Add small models of these names, which are disturbed in their training."""
        row = SMALL_CATALOGUE.splitlines()[1]
        catalogue = self.folder / "studies" / "small.csv"
        rows = "".join(row.replace("linear", name, 1) + "\n" for name in names)
        catalogue.write_text(catalogue.read_text() + rows)
        self.workflow.edit("workflow_scripts/train.py", MAIN, DISTURBANCE + MAIN)

    def hold_until_told(self, script: str, *names: str) -> Path:
        """Hold up the first job of a script for some models; the file with its jobs' numbers."""
        starts = self.folder / f"jobs-of-{script}"
        held = UNTIL_TOLD.format(names=names, starts=starts)
        self.workflow.edit(f"workflow_scripts/{script}.py", MAIN, held + MAIN)
        return starts

    def command(self, *arguments: str) -> list[str]:
        """The command line, with the waits of the profile cut short."""
        return [
            self.python, "-m", "snakemake", *arguments, "--nocolor",
            "--profile", "profiles/slurm", "--configfile", "small.yaml",
            "--seconds-between-status-checks", "1", "--latency-wait", "15",
        ]  # fmt: skip

    @property
    def environment(self) -> Mapping[str, str]:
        """The cluster's, with the executor of the tree."""
        scripts = str(self.folder / "workflow_scripts")
        return {**self.cluster.environment, "PYTHONPATH": scripts}

    def jobs_of(self, model: str) -> list[dict[str, str]]:
        """What SLURM knows of the trainings of a model, first attempt first."""
        form = "%i|%k|%m|%l|%T|%Z"
        rows = self.cluster.command("squeue", "-h", "--states=all", "-o", form).splitlines()
        fields = ("id", "comment", "memory", "limit", "state", "folder")
        jobs = [dict(zip(fields, row.split("|"), strict=True)) for row in rows]
        mine = [
            job
            for job in jobs
            if job["comment"] == f"rule_train_model_wildcards_{model}"
            and job["folder"] == str(self.folder)
        ]
        return sorted(mine, key=lambda job: int(job["id"]))

    def state(self, job: str) -> str:
        """SLURM's state of a job."""
        return self.cluster.command("squeue", "-h", "-j", job, "--states=all", "-o", "%T").strip()

    def shorten(self, job: str) -> None:
        """Leave a running job four minutes: less than the five at which it is to be told."""
        words = self.cluster.command("squeue", "-h", "-j", job, "-o", "%M").strip().split(":")
        (minutes,) = words[-2:-1]
        limit = int(minutes) + 4
        self.cluster.command("scontrol", "update", f"jobid={job}", f"timelimit={limit}")

    def slurm_log(self, model: str, job: str) -> str:
        """What SLURM said of a training that failed."""
        folder = self.folder / ".snakemake" / "slurm_logs" / "rule_train_model" / model
        return (folder / f"{job}.log").read_text()


def checkpoint(model: str) -> str:
    """The file that training a model makes."""
    return f"results/checkpoints/{model}.safetensors"


def without(program: str, folder: Path, path: str) -> str:
    """A PATH on which all of another one is, but one program."""
    folder.mkdir()
    for place in path.split(os.pathsep):
        for file in sorted(Path(place).glob("*")):
            link = folder / file.name
            if file.name != program and not link.exists() and not link.is_symlink():
                link.symlink_to(file)
    return str(folder)
