"""Jobs and runs: arguments of scripts, how failures are told, SIGTERM."""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake.scheduling.job_scheduler import JobScheduler

from helpers import run_python
from matcheval.datasets.suites import Pair
from matcheval.execution import run_summary
from matcheval.execution.entry_points import job_arguments, run_job
from matcheval.execution.jobs import set_job_environment
from matcheval.protocol.settings import Criterion
from sigterm import end_at_any_moment


def main(
    *, pair: Pair, criterion: Criterion, tables: Sequence[Path], size: int | None,
    options: Mapping[str, Any], page: Path,
) -> None:  # fmt: skip
    """Stand in for a script's function."""


def test_arguments_are_found_by_name_and_converted():
    """The pair is also a wildcard, its name, which the rule's parameter overrides."""
    pair = {"name": "p", "original": "a", "replication": "b", "source": None}
    given = {"pair": pair, "size": None, "options": {"share": 0.05}}
    job = SimpleNamespace(
        params={"job": json.dumps(given), "code": "1a2b"}, input={"tables": ["x.csv", "y.csv"]},
        output={"page": "z.md"}, threads=2,
        wildcards={"pair": "p", "criterion": "probability", "dataset": "d"},
    )  # fmt: skip
    assert job_arguments(main, job) == {
        "pair": Pair("p", "a", "b"),
        "criterion": Criterion.PROBABILITY,
        "tables": [Path("x.csv"), Path("y.csv")],
        "size": None,
        "options": {"share": 0.05},
        "page": Path("z.md"),
    }


def test_names_cannot_command_the_terminal():
    code = (
        "import logging; from matcheval.errors import InputError\n"
        "from matcheval.execution.entry_points import run_command\n"
        "def fail():\n"
        "    logging.warning('of \\x1b[2J'); raise InputError('no \\x9b1m\\x07é')\n"
        "run_command(fail)"
    )
    assert run_python("-c", code).stderr == "of \\x1b[2J\nerror: no \\x9b1m\\x07é\n"


def test_scripts_of_the_workflow_are_found_before_those_of_the_working_directory(
    monkeypatch, tmp_path
):
    (tmp_path / "train.py").write_text("raise SystemExit('theirs')\n")
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setenv("MATCHEVAL_JOB", "")
    set_job_environment(Path(__file__).parents[2] / "workflow_scripts")
    given = ["python", os.environ["MATCHEVAL_JOB"], "train:train_models", "--help"]
    done = subprocess.run(given, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert shutil.which("python") == str(Path(sys.executable).parent / "python")
    assert "Train the models" in done.stdout


def test_the_error_in_a_log():
    log = "Traceback (most recent call last):\nmatcheval.errors.InputError: b.csv: row 0\n"
    assert run_summary.last_error(log + "c.csv: row 1\n") == "b.csv: row 0 c.csv: row 1"
    assert run_summary.last_error("slurmstepd: error: *** JOB 7 ***\n") == "*** JOB 7 ***"


STATUS = (
    "CalledProcessError in file x, line 9:\nCommand 'set -euo pipefail;  {}' returned non-zero exit"
)


def error(job, log, *more, rule="train_model", indent="") -> str:
    """An error as Snakemake's log has it."""
    lines = [f"Error in rule {rule}:", "    message: None", f"    jobid: {job}",
             f"    log: {log} (check log file(s) for error details)", *more]  # fmt: skip
    return "".join(f"{indent}{line}\n" for line in lines)


def told(tmp_path, text, began=0.0) -> list[str]:
    """The lines of the table of a run with this log."""
    (tmp_path / "run.log").write_text(text)
    return run_summary.failure_table(tmp_path / "run.log", began).splitlines()


def test_the_reason_of_a_failure(tmp_path):
    file = tmp_path / "job.log"
    file.write_text("error: a\n")
    os.utime(file, (1000, 1000))

    def reason(code, began):
        text = f"{STATUS.format('train mlp > log')} status {code}.\n"
        text += error(4, file, "    shell:", "        train mlp > log")
        return told(tmp_path, text, began)[3].split("  ")[-1]

    assert reason(1, 1000) == "a"
    assert reason(1, 2000) == "it has left no message"  # the log is of an earlier run
    assert reason(137, 1000) == "killed by SIGKILL, perhaps because the machine ran out of memory"


def test_the_table_of_failed_jobs(tmp_path):
    """A job tried again has not failed; jobs of a group that never ran come last."""
    (tmp_path / "b.log").write_text("error: b.csv: x\n")
    text = "Job 3: Training mlp\n" + error(3, "a.log") + "Trying to restart job 3.\n"
    assert told(tmp_path, text) == []
    text += "Job 4: Counting new\nJob 5: Counting old\nJob 6: Matching\nError in group tables:\n"
    text += error(5, "c.log", rule="count", indent="    ")
    text += error(4, tmp_path / "b.log", rule="count", indent="    ")
    text += (
        'MissingOutputException in rule match in file "x", line 3:\n'
        "Job 6  completed successfully, but some output files are missing. Missing files\na.txt\n"
    )
    lines = told(tmp_path, text)
    assert lines[0] == "3 jobs failed:"
    assert [" ".join(line.split()) for line in lines[2:6]] == [
        "rule job log reason",
        f"count Counting new {tmp_path}/b.log b.csv: x",
        "match Matching Job 6 completed successfully, but some output files are missing. Missing"
        " files",
        "count Counting old c.log it has left no message",
    ]


def divide() -> None:
    1 / 0  # noqa: B018


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("function", "code", "n", "last"),
    [(divide, 1, 1, "ZeroDivisionError: division by zero"), (interrupt, 130, 0, "interrupted")],
)
def test_a_script_that_fails_tells_its_log_only(
    tmp_path, capsys, monkeypatch, function, code, n, last
):
    monkeypatch.setattr(logging.root, "handlers", [])
    params = SimpleNamespace(function=f"{__name__}:{function.__name__}", items=dict)
    log = tmp_path / "a.log"
    job = SimpleNamespace(params=params, input={}, output={}, wildcards={}, log=[log], threads=1)
    with pytest.raises(SystemExit) as ended:
        run_job(job)
    assert ended.value.code == code
    assert capsys.readouterr().err == ""
    assert log.read_text().count("Traceback") == n
    assert log.read_text().splitlines()[-1] == last
    assert not n or run_summary.last_error(log.read_text()) == last


@pytest.fixture
def handlers():
    """Keep what signals do."""
    kept = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGALRM)}
    yield
    signal.alarm(0)
    for one, handler in kept.items():
        signal.signal(one, handler)


@pytest.mark.usefixtures("handlers")
def test_a_signal_ends_a_run_while_its_lock_is_held():
    scheduler = JobScheduler.__new__(JobScheduler)
    scheduler._lock, scheduler._open_jobs = threading.Lock(), threading.Semaphore(0)
    signal.signal(signal.SIGTERM, scheduler.exit_gracefully)
    end_at_any_moment(scheduler)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(10)  # otherwise this test would wait forever
    with scheduler._lock:
        os.kill(os.getpid(), signal.SIGTERM)
    assert scheduler._open_jobs.acquire(timeout=10)
    assert scheduler._user_kill == "graceful"
