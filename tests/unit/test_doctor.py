"""`matched-eval doctor`: what is said of this machine, others, and a SLURM.

SLURM's commands are replaced by scripts that print its answers; tests/cluster uses a real one.
"""

import os
from types import SimpleNamespace

import pytest
import yaml

from helpers import printed
from matcheval import __version__, health, slurm_checks
from matcheval.cli.main import main
from matcheval.health import NOTE, OK, PROBLEM
from studies import ROOT


class TestDoctor:
    def test_this_machine(self, capsys, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        told = printed(capsys, "doctor")
        assert told["works"] is True
        assert told["versions"]["matched-eval"] == __version__
        subjects = {one["subject"] for one in told["findings"]}
        assert {"Python", "torch", "GPU", "results", "workflow", "SLURM"} <= subjects
        assert not list(tmp_path.iterdir())  # looking changes nothing

    def test_a_problem_is_said_with_its_remedy_and_a_code(self, capsys, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(SystemExit, match="1"):
            main(["doctor", "--results", str(tmp_path / "file" / "results")])
        told = capsys.readouterr().out
        assert "problem   results: " in told
        assert "-> Name another one: `results:` in the study file" in told

    def test_packages(self, monkeypatch):
        declared = ["numpy>=2.1", "pandas>=99", "nowhere-to-be-found; extra == 'workflow'"]
        monkeypatch.setattr(health.metadata, "requires", lambda name: declared)
        base, extra = health.check_packages()
        assert (base.state, "pandas" in base.found, "numpy" in base.found) == (PROBLEM, True, False)
        assert (extra.state, "not installed: nowhere-to-be-found" in extra.found) == (NOTE, True)


class FakeTorch:
    """As much of torch as is asked for the devices."""

    def __init__(self, cuda):
        self.version = SimpleNamespace(cuda=cuda)
        self.cuda = SimpleNamespace(device_count=lambda: 0)
        self.backends = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: False))


@pytest.mark.parametrize(
    ("torch", "environment", "state", "said"),
    [
        (FakeTorch(None), {}, PROBLEM, "built for CPUs only"),
        (FakeTorch("13.0"), {}, PROBLEM, "it is built for CUDA 13.0"),
        (FakeTorch("13.0"), {"CUDA_VISIBLE_DEVICES": ""}, NOTE, "hidden"),
    ],
)
def test_what_torch_can_use(tmp_path, monkeypatch, torch, environment, state, said):
    (tmp_path / "nvidia0").touch()
    monkeypatch.setattr(health, "DEVICES", tmp_path)
    found, told, remedy = health._test_gpus(torch, {"PATH": "", **environment})
    assert (found, said in told, bool(remedy)) == (state, True, True)


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
def profile(tmp_path):
    """What is said of the profile, with other resources and keys: `profile(resources, k=v)`."""

    def profile(resources=(), **keys):
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

    return profile


def test_time_limits_of_partitions(commands):
    assert slurm_checks.partition_limits() == {"cpu": 1440, "gpu": 120, "long": float("inf")}
    commands("sinfo", "echo 'a|30:00\nb|1-12:30:00\nc|0:30'")
    assert slurm_checks.partition_limits() == {"a": 30, "b": 2190, "c": 0.5}


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"max_runtime": 2000}, "'cpu' ends jobs after 1440 minutes -> max_runtime: 1440, or less"),
        ({"slurm_acount": "mine"}, "no effect -> Is it 'slurm_account'?"),
    ],
)
def test_what_does_not_fit(commands, profile, resources, message):
    problems = [text for state, text in profile(resources).values() if state == PROBLEM]
    assert message in "; ".join(problems)


def test_how_the_end_of_jobs_is_noticed(commands, profile):
    assert profile()["status"][0] == OK
    assert profile(slurm_status_command="sacct")["status"][0] == PROBLEM
    state, text = profile(slurm_init_seconds_before_status_checks=200)["status"]
    assert (state, text.endswith("status-checks: 100 or less")) == (PROBLEM, True)
    commands("scontrol", f"echo '{CONFIG.format('accounting_storage/slurmdbd', 2)}'")
    assert profile(slurm_status_command="sacct")["status"][0] == OK
