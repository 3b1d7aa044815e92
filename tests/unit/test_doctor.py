"""`matched-eval doctor` and `--version`: what is said of this machine, others, and a SLURM.

SLURM's commands are replaced by scripts that print its answers; tests/cluster uses a real one.
"""

import os
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import yaml

from helpers import printed
from matcheval import __version__, health, slurm_checks
from matcheval.cli.main import main
from matcheval.health import NOTE, OK, PROBLEM
from studies import ROOT


def states(findings):
    return [one.state for one in findings]


def ended(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return caught.value.code, capsys.readouterr()


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
        code, told = ended(capsys, "doctor", "--results", str(tmp_path / "file" / "results"))
        assert code == 1
        assert "problem   results: " in told.out
        assert "-> Name another one: `results:` in the study file" in told.out
        assert "\n1 problem, " in told.out

    def test_packages(self, monkeypatch):
        declared = ["numpy>=2.1", "pandas>=99", "nowhere-to-be-found; extra == 'workflow'"]
        monkeypatch.setattr(health.metadata, "requires", lambda name: declared)
        base, extra = health.check_packages()
        assert (base.state, "pandas" in base.found, "numpy" in base.found) == (PROBLEM, True, False)
        assert (extra.state, "not installed: nowhere-to-be-found" in extra.found) == (NOTE, True)


class FakeTorch:
    """As much of torch as is asked for the devices."""

    def __init__(self, cuda=None, error=None, mps=False):
        count = Mock(side_effect=error, return_value=0)
        self.version, self.cuda = SimpleNamespace(cuda=cuda), SimpleNamespace(device_count=count)
        self.backends = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps))


class TestGpus:
    @pytest.mark.parametrize(
        ("torch", "files", "environment", "state", "said"),
        [
            (FakeTorch(None), ["nvidia0"], {}, PROBLEM, "built for CPUs only"),
            (FakeTorch("13.0"), ["nvidia0"], {}, PROBLEM, "it is built for CUDA 13.0"),
            (FakeTorch("13.0"), [], {"CUDA_VISIBLE_DEVICES": ""}, NOTE, "hidden"),
            (FakeTorch("13.0", RuntimeError("driver too old\nmore")), [], {}, PROBLEM, "too old"),
        ],
    )
    def test_what_torch_can_use(
        self, tmp_path, monkeypatch, torch, files, environment, state, said
    ):
        for name in files:
            (tmp_path / name).touch()
        monkeypatch.setattr(health, "DEVICES", tmp_path)
        found, told, remedy = health._gpus(torch, {"PATH": "", **environment})
        assert (found, said in told) == (state, True)
        assert bool(remedy) == (state != OK)


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


def test_whether_there_is_a_cluster(commands, profile, monkeypatch):
    commands("sinfo", "echo 'Unable to contact slurm controller' >&2; exit 1")
    (found,) = slurm_checks.check_presence()
    assert (found.state, "Unable to contact" in found.found) == (NOTE, True)
    monkeypatch.setenv("PATH", "/nowhere")
    (found,) = slurm_checks.check_presence()
    assert found.state == OK  # jobs run on this machine
    assert profile()["SLURM"][0] == PROBLEM


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
