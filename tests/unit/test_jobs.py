"""What a job is told: its time limit, and the study as it was when its run began."""

import time

import pytest

from matcheval.errors import InputError
from matcheval.execution.jobs import is_to_stop, keep_study


@pytest.mark.parametrize(
    ("minutes", "passed", "stops"),
    [
        (60, 54.9, False), (60, 55.1, True), (15, 9.9, False), (15, 10.1, True),
        (14, 13.9, False), (0, 1e6, False),
    ],
)  # fmt: skip
def test_a_job_stops_five_minutes_before_its_time_limit(minutes, passed, stops):
    """But one that is shorter than 15 minutes, or has no limit, does not."""
    assert is_to_stop(minutes, time.monotonic() - 60 * passed)() is stops


def test_jobs_refuse_another_study_than_their_run_began_with(monkeypatch):
    monkeypatch.delenv("MATCHEVAL_STUDY_AT_START", raising=False)
    keep_study("a", is_main=False)  # of a run that tells nothing
    keep_study("a", is_main=True)
    keep_study("a", is_main=False)
    with pytest.raises(InputError, match="was edited while the run goes on"):
        keep_study("b", is_main=False)
    keep_study("b", is_main=True)  # of a new run
    monkeypatch.delenv("MATCHEVAL_STUDY_AT_START")
