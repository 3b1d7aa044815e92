"""What a run tells a person: reasons of failures, the table of failed jobs, where to start."""

import logging
import os
import signal
import sys
import threading
from types import SimpleNamespace

import pytest
from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter, logger
from snakemake.scheduling.job_scheduler import JobRateLimiter, JobScheduler
from snakemake.settings.enums import Quietness
from snakemake.settings.types import MaxJobsPerTimespan
from snakemake_interface_logger_plugins.common import LogEvent

from matcheval.execution import run_summary
from matcheval.execution.entry_points import run_job
from matcheval.execution.run_summary import Failure, Job, RunRecord
from run_messages import RunMessages
from scheduling import end_at_any_moment, start_jobs_without_polling

TRACEBACK = """\
60 images
Traceback (most recent call last):
  File "match.py", line 3, in <module>
    raise Error
"""


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("epoch 1\nerror: x.csv: no such file\n", "x.csv: no such file"),
        (TRACEBACK + "matcheval.errors.InputError: b.csv: row 0\nc.csv: row 1\n",
         "b.csv: row 0 c.csv: row 1"),
        (TRACEBACK + "torch.OutOfMemoryError: 3 GiB\n", "OutOfMemoryError: 3 GiB"),
        ("error: the first\nerror: the \x1b[2Jlast\n", "the \\x1b[2Jlast"),
        ("slurmstepd: error: *** JOB 7 CANCELLED DUE TO TIME LIMIT ***\n",
         "*** JOB 7 CANCELLED DUE TO TIME LIMIT ***"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_error_in_a_log(log, reason):
    assert run_summary.error_in(log) == reason


@pytest.mark.parametrize(
    ("log", "executor", "reason"),
    [
        ("error: a\n", "Command 'x' returned non-zero exit status 1.", "a"),
        ("error: caught\n", "Command 'x' returned non-zero exit status 137.",
         "killed by SIGKILL, perhaps because the machine ran out of memory"),
        ("", "Command 'x' died with <Signals.SIGTERM: 15>.", "killed by SIGTERM"),
        ("", "Command 'x' returned non-zero exit status 255.", "it has left no message"),
        ("epoch 1\n1 failed\n\n", "Command 'x' returned non-zero exit status 1.", "1 failed"),
        ("error: " + "long " * 100, "", ("long " * 100)[:299] + "…"),
        (None, "", "it has left no message"),
    ],
)  # fmt: skip
def test_the_reason_of_a_failure(tmp_path, log, executor, reason):
    file = tmp_path / "job.log"
    if log is not None:
        file.write_text(log)
        os.utime(file, (1000, 1000))
    assert run_summary.reason_of_failure([str(file)], since=1000, executor=executor) == reason
    # A log of an earlier run tells nothing.
    assert run_summary.reason_of_failure([str(file)], since=2000) == "it has left no message"


def test_jobs_that_could_not_write_to_a_full_disk(tmp_path, monkeypatch):
    free = {tmp_path: 1000}
    monkeypatch.setattr(
        run_summary.shutil, "disk_usage", lambda folder: SimpleNamespace(free=free[folder])
    )
    log = str(tmp_path / "not" / "made" / "job.log")
    reason = run_summary.reason_of_failure([log], since=0)
    assert reason == f"the disk of {tmp_path} is full. Free space there"
    free[tmp_path] = 1 << 30
    assert run_summary.reason_of_failure([log], since=0) == "it has left no message"


def test_the_table_of_failed_jobs():
    train = Job("train_model", {"model": "mlp"})
    match = Job("match_predictions", {"pair": "new-writers", "batch": "001"})
    run = RunRecord(failed={3: Failure(train, "no memory", "a.log"), 4: Failure(match, "b.csv: x")})
    run.finished[1], run.total = Job("prepare_dataset"), 6
    lines = run_summary.failure_page(run).splitlines()
    assert lines[0] == "2 jobs failed; 1 of 6 are done, and 3 did not run."
    assert lines[2:5] == [
        "rule               model  set          log    reason",
        "train_model        mlp                 a.log  no memory",
        "match_predictions  001    new-writers         b.csv: x",
    ]
    run.failed |= {n: Failure(train, "no memory") for n in range(10, 40)}
    assert "... and 12 × train_model." in run_summary.failure_page(run)
    stopped = RunRecord(started={1: train, 2: match}, finished={1: train})
    assert run_summary.failure_page(stopped).startswith("The run was stopped: 1 job done.")


def test_what_was_made_and_where_to_start(tmp_path):
    (tmp_path / "summary.md").touch()
    run = RunRecord(finished={
        1: Job("plot", {}, ("r/s/a/x.png", "r/s/a/b/y.png")), 2: Job("plot", {}, ("r/t/z.png",)),
        0: Job("all"),
    })  # fmt: skip
    page = run_summary.success_page(
        run, {"matching": f"{tmp_path}/summary.md", "groups": "none.md"}
    )
    assert page == f"Made: 2 × plot.\nStart reading here:\n  {tmp_path}/summary.md  matching"
    assert run_summary.success_page(run, {}) == "Made: 2 × plot.\nFiles are in r/s/a, r/t."


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
    assert not n or run_summary.error_in(log.read_text()) == last


@pytest.fixture
def terminal(monkeypatch):
    """Messages of a run as they appear on a terminal, with `quiet: rules` as on a laptop."""
    shown = []
    handler = ColorizingTextHandler(
        nocolor=True, stream=SimpleNamespace(write=shown.append, flush=lambda: None),
        formatter=DefaultFormatter(), filter=DefaultFilter({Quietness.RULES}, *4 * [False]),
    )  # fmt: skip
    handler.name = "DefaultStreamHandler"
    monkeypatch.setattr(logger, "handlers", [handler])
    monkeypatch.setattr(logger, "level", logging.INFO)
    first_page = str(sys.executable)  # some file
    matching = SimpleNamespace(first_page=first_page)
    study = SimpleNamespace(analyses={"matching": matching}, report_page="none.html")
    messages = RunMessages(study)
    messages.start()

    def lines():
        return [line[11:] for line in "".join(shown).splitlines() if line.startswith("[")]

    return messages, lines


def tell(event, message="", **fields):
    logger.error(message, extra={"event": event, **fields})


def begin(number, rule, **wildcards):
    tell(LogEvent.JOB_INFO, jobid=number, rule_name=rule, wildcards=wildcards, output=["a"],
         rule_msg="")  # fmt: skip


def end(number, done):
    tell(LogEvent.JOB_FINISHED, job_id=number)
    tell(LogEvent.PROGRESS, done=done, total=9)


def test_a_job_tried_again_has_not_failed(terminal, tmp_path):
    (tmp_path / "log").write_text("error: no\n")
    begin(4, "train_model", model="mlp")
    tell(LogEvent.ERROR, "CalledProcessError in file x:\nreturned non-zero exit status 1.")
    error = {"jobid": 4, "rule_name": "train_model", "log": [f"{tmp_path}/log"], "rule_msg": None}
    tell(LogEvent.JOB_ERROR, **error)
    assert terminal[1]() == [f"failed: train_model mlp: no (log: {tmp_path}/log)"]
    assert list(terminal[0].run.failed) == [4]
    end(4, 1)
    assert not terminal[0].run.failed


def test_of_a_group_the_job_with_an_error_has_failed(terminal, tmp_path):
    jobs = []
    for number, log in enumerate(("fine\n", "error: no\n", "fine\n")):
        (tmp_path / str(number)).write_text(log)
        begin(number, "count", dataset=f"set{number}")
        jobs.append({"jobid": number, "rule_name": "count", "log": [f"{tmp_path}/{number}"]})
    tell(LogEvent.GROUP_ERROR, groupid="tables", job_error_info=jobs, aux_logs=[])
    for job in jobs:
        tell(LogEvent.JOB_ERROR, rule_msg=None, **job)
    assert terminal[1]() == [
        "failed: group tables", f"failed: count set1: no (log: {tmp_path}/1)"
    ]  # fmt: skip
    assert list(terminal[0].run.failed) == [1]


def test_missing_output_is_a_failure(terminal):
    begin(4, "count", dataset="known")
    tell(LogEvent.ERROR, "MissingOutputException in rule count in file x, line 3:\n"
         "Job 4 completed successfully, but some output files are missing. a (1 s)")  # fmt: skip
    assert "output files are missing" in terminal[0].run.failed[4].reason


@pytest.mark.parametrize(("limit", "kept"), [("100/1s", False), ("100/1m", True), ("1/1s", True)])
def test_the_waiting_jobs_are_polled_only_for_a_limit_of_the_users(limit, kept):
    limiter = JobRateLimiter(MaxJobsPerTimespan.parse_choice(limit))
    scheduler = SimpleNamespace(job_rate_limiter=limiter)
    start_jobs_without_polling(scheduler)
    assert scheduler.job_rate_limiter is (limiter if kept else None)


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
