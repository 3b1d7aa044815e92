"""What a job is told: its time limit."""

import time

import pytest

from matcheval.execution.jobs import is_to_stop


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
