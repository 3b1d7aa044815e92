"""SIGTERM ends a run, whatever its main thread is doing."""

import os
import signal
import threading

import pytest
from snakemake.scheduling.job_scheduler import JobScheduler

from sigterm import end_at_any_moment


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
