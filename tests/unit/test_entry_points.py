"""Arguments of scripts: by name from a job, converted to the annotated types."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from matcheval.datasets.suites import Pair
from matcheval.execution import entry_points
from matcheval.execution.entry_points import job_arguments, run_command, run_script
from matcheval.execution.jobs import set_job_environment
from matcheval.protocol.settings import Criterion


def main(
    *, pair: Pair, criterion: Criterion, tables: Sequence[Path], size: int | None,
    options: Mapping[str, Any], page: Path,
) -> None:  # fmt: skip
    """Stand in for a script's function."""


GIVEN = {"pair": {"name": "p", "original": "a", "replication": "b", "source": None},
         "size": None, "options": {"share": 0.05}}  # fmt: skip


def job(parameters=GIVEN, **changes):
    """A job as Snakemake hands it to a script; `code` is there to repeat it when code changes."""
    places = {
        "params": {"job": json.dumps(parameters), "code": "1a2b"},
        "input": {"tables": ["x.csv", "y.csv"]},
        "output": {"page": "z.md"},
        "wildcards": {"pair": "p", "criterion": "probability", "dataset": "d"},
    }
    places = {name: one | changes.get(name, {}) for name, one in places.items()}
    return SimpleNamespace(**places, threads=2)


def test_arguments_are_found_by_name_and_converted():
    """The pair is also a wildcard, its name, which the rule's parameter overrides."""
    assert job_arguments(main, job()) == {
        "pair": Pair("p", "a", "b"),
        "criterion": Criterion.PROBABILITY,
        "tables": [Path("x.csv"), Path("y.csv")],
        "size": None,
        "options": {"share": 0.05},
        "page": Path("z.md"),
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (job(GIVEN | {"sise": 3}), "the rule passes sise, which its script does not take"),
        (job({"pair": GIVEN["pair"], "options": {}}), "passes 'size' 0 times"),
        (job(params={"tables": []}), "passes 'tables' 2 times"),
    ],
)
def test_a_rule_and_a_script_that_do_not_fit_together(given, message):
    with pytest.raises(TypeError, match=message):
        job_arguments(main, given)


@dataclass
class Machine:
    """Fields that are options."""

    device: str = "cpu"
    n_threads: int = 1
    exact: bool = True


def test_options_of_a_script_are_the_parameters_of_its_function():
    seen = []

    def work(name: str, machine: Machine, files: Sequence[Path] = (), again: bool = False) -> None:
        seen.append((name, machine, files, again))

    given = ["--name", "a", "--n-threads", "2", "--no-exact", "--files", "x", "y", "--again"]
    run_script(work, given)
    run_script({"work": work, "rest": print}, ["work", "--name", "a"])
    assert seen == [
        ("a", Machine("cpu", 2, False), [Path("x"), Path("y")], True),
        ("a", Machine(), (), False),
    ]
    for argv in ([], ["--name", "a", "--other", "b"]):
        with pytest.raises(SystemExit):
            run_script(work, argv)


def test_names_cannot_command_the_terminal():
    code = (
        "import logging; from matcheval.errors import InputError\n"
        "from matcheval.execution.entry_points import run_command\n"
        "def fail():\n"
        "    logging.warning('of \\x1b[2J'); raise InputError('no \\x9b1m\\x07é')\n"
        "run_command(fail)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == "of \\x1b[2J\nerror: no \\x9b1m\\x07é\n"


def test_compiled_code_that_a_full_disk_cut_off_is_deleted(tmp_path, monkeypatch, capsys):
    (tmp_path / "cut_off.py").write_text("NAMES = ['a', 'b', 'c']\nprint('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(entry_points, "__file__", str(tmp_path / "matcheval/execution/x.py"))

    def function():
        import cut_off  # noqa: F401

    run_command(function)
    (compiled,) = tmp_path.rglob("*.pyc")
    os.truncate(compiled, compiled.stat().st_size - 9)
    del sys.modules["cut_off"]
    with pytest.raises(SystemExit):
        run_command(function)
    told = capsys.readouterr().err
    assert f"{compiled}: compiled code of Python was cut off" in told
    assert "Run the same command again" in told
    run_command(function)  # and now it goes
    del sys.modules["cut_off"]


def test_scripts_of_the_workflow_are_found_before_those_of_the_working_directory(
    monkeypatch, tmp_path
):
    (tmp_path / "train.py").write_text("raise SystemExit('theirs')\n")
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setenv("MATCHEVAL_JOB", "")
    set_job_environment(Path(__file__).parents[2] / "workflow_scripts")
    given = ["python", os.environ["MATCHEVAL_JOB"], "train", "--help"]
    done = subprocess.run(given, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert shutil.which("python") == str(Path(sys.executable).parent / "python")
    assert "Train the models" in done.stdout
