"""`doctor` and `doctor --slurm`, given the answers of SLURM's commands.

The commands are replaced by scripts that print SLURM's answers; tests/cluster uses a real SLURM.
"""

import os

import pytest
import yaml

from matcheval import slurm_checks
from matcheval.health import NOTE, OK, PROBLEM
from studies import ROOT

PARTITIONS = "cpu|1-00:00:00\ngpu|2:00:00\nlong|infinite"
CONFIG = "AccountingStorageType   = {}\nMinJobAge               = {} sec"
GIVEN = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Put stand-ins for commands first on PATH: `commands(name, shell script)`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def add(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    add("sinfo", f"echo '{PARTITIONS}'")
    add("scontrol", f"echo '{CONFIG.format('accounting_storage/none', 300)}'")
    add("sbatch", "echo 7")
    for name in ("scancel", "squeue", "srun"):
        add(name, "true")
    return add


@pytest.fixture
def told(tmp_path):
    """What is said of the profile, with other resources and keys: `told(resources, key=value)`."""

    def told(resources=(), **keys):
        keys = {key.replace("_", "-"): value for key, value in keys.items()}
        default = {"slurm_partition": "cpu", "max_runtime": 1440, **dict(resources)}
        (tmp_path / "config.yaml").write_text(
            yaml.safe_dump({**GIVEN, **keys, "default-resources": default})
        )
        findings = slurm_checks.check_profile(tmp_path / "results", tmp_path / "config.yaml")
        found = {}
        for one in findings:  # of equal subjects, the first counts
            found.setdefault(one.subject, (one.state, f"{one.found} -> {one.remedy}"))
        return found

    return told


def test_time_limits_of_partitions(commands):
    assert slurm_checks.partitions() == {"cpu": 1440, "gpu": 120, "long": float("inf")}
    commands("sinfo", "echo 'a|30:00\nb|1-12:30:00\nc|0:30'")
    assert slurm_checks.partitions() == {"a": 30, "b": 2190, "c": 0.5}


def test_whether_there_is_a_cluster(commands, told, monkeypatch):
    commands("sinfo", "echo 'Unable to contact slurm controller' >&2; exit 1")
    (found,) = slurm_checks.check_presence()
    assert (found.state, "Unable to contact" in found.found) == (NOTE, True)
    monkeypatch.setenv("PATH", "/nowhere")
    (found,) = slurm_checks.check_presence()
    assert found.state == OK  # jobs run on this machine
    assert told()["SLURM"][0] == PROBLEM


def test_a_cluster_that_takes_the_jobs(commands, told, tmp_path):
    commands("sbatch", f"echo \"$@\" > {tmp_path}/given; echo '7;cluster2'")
    found = told({"slurm_account": "mine", "qos": "short"})
    assert {state for state, _ in found.values()} == {OK}
    given = (tmp_path / "given").read_text()
    assert "--begin=now+1hour" in given
    assert {"--partition=cpu", "--account=mine", "--qos=short"} <= {*given.split()}


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"max_runtime": 2000}, "'cpu' ends jobs after 1440 minutes -> max_runtime: 1440, or less"),
        ({"slurm_acount": "mine"}, "no effect -> Is it 'slurm_account'?"),
    ],
)
def test_what_does_not_fit(commands, told, resources, message):
    problems = [text for state, text in told(resources).values() if state == PROBLEM]
    assert message in "; ".join(problems)


@pytest.mark.parametrize(
    ("command", "script", "state", "said"),
    [
        ("sbatch", "echo 'Invalid account' >&2; exit 1", PROBLEM, "Invalid account"),
        ("srun", "echo '/here cannot be written to'", PROBLEM, "/here cannot be written to"),
        ("srun", "echo 'Requested nodes are busy' >&2; exit 1", NOTE, ""),
    ],
)
def test_what_slurm_itself_says(commands, told, command, script, state, said):
    commands(command, script)
    found, text = told()["slurm_partition"]
    assert (found, said in text) == (state, True)


def test_how_the_end_of_jobs_is_noticed(commands, told):
    assert told()["status"][0] == OK
    assert told(slurm_status_command="sacct")["status"][0] == PROBLEM
    state, text = told(slurm_init_seconds_before_status_checks=200)["status"]
    assert (state, text.endswith("status-checks: 100 or less")) == (PROBLEM, True)
    commands("scontrol", f"echo '{CONFIG.format('accounting_storage/slurmdbd', 2)}'")
    assert told(slurm_status_command="sacct")["status"][0] == OK
