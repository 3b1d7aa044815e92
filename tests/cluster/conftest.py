"""One cluster for all tests, and a run on it that is disturbed in all ways."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from runs import Run
from slurm import Cluster, why_not

# Names of brief jobs (brief.smk).
FAULTS = ("greedy", "slow", "broken", "fine", "spare", "frail", "cancelled")


@pytest.fixture(scope="session")
def slurm() -> None:
    """Skip where there can be no cluster."""
    if reason := why_not():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def cluster(slurm: None) -> Iterator[Cluster]:
    with Cluster.started() as cluster:
        yield cluster


def banner(folder: Path, text: str) -> str:
    """A folder with an `sbatch` that prints something before the number of the job."""
    folder.mkdir()
    (folder / "sbatch").write_text(
        f'#!/bin/sh\necho "{text}"\nexec {shutil.which("sbatch")} "$@"\n'
    )
    (folder / "sbatch").chmod(0o755)
    return str(folder)


@pytest.fixture(scope="session", autouse=True)
def disturbed(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Run, "subprocess.Popen[str]"]:
    """A run of jobs with faults, which goes on beside the other tests.

    If a job's limit is a minute, SLURM ends it up to a minute and a half after its start.
    """
    folder = tmp_path_factory.mktemp("disturbed")
    run = Run(folder, cluster, banner(folder / "site", "Welcome to the cluster!"))
    process = run.start(",".join(FAULTS))
    run.wait(lambda: {*FAULTS} == {name for name, _ in run.starts}, "the jobs")
    cluster.command("scancel", *run.numbers("cancelled"))
    urgent = ("--partition=urgent", "--exclusive", "--time=5", "--output=/dev/null", "--wrap=true")
    cluster.command("sbatch", *urgent)
    cluster.wait_until_saved()
    cluster.kill_controller()
    time.sleep(3)  # a command of SLURM asks for nine seconds
    cluster.start_controller()
    cluster.kill_node("frail1")
    (lost,) = run.numbers("frail")
    run.wait(lambda: run.state(lost) == "PENDING", "SLURM to notice that a node died")
    cluster.start_node("frail1")
    (folder / "go").touch()
    return run, process
