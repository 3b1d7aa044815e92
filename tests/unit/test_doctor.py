"""`matched-eval doctor` and `--version`: what is said of this machine and others."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from helpers import told_json
from matcheval import __version__, health
from matcheval.cli.main import main
from matcheval.health import NOTE, OK, PROBLEM


def states(findings):
    return [one.state for one in findings]


def ended(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return caught.value.code, capsys.readouterr()


def test_the_version(capsys):
    code, told = ended(capsys, "--version")
    assert code == 0
    assert told.out.splitlines()[0].split() == ["matched-eval", __version__]


class TestDoctor:
    def test_this_machine(self, capsys, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        main(["doctor", "--json"])
        told = told_json(capsys.readouterr().out)
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

    @pytest.mark.parametrize(("free", "state"), [(10**10, OK), (10**9, NOTE), (10**8, PROBLEM)])
    def test_disk_space(self, tmp_path, monkeypatch, free, state):
        monkeypatch.setattr(health.shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
        assert states(health.check_folders(tmp_path)) == [state, state]

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
