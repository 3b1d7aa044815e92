"""Jobs stop before their time limit, and refuse a study or library edited since the run began."""

import json
import time

import pytest

from matcheval.errors import InputError
from matcheval.execution import jobs
from matcheval.execution.jobs import (
    RUN,
    begin_run,
    check_same_library,
    check_same_study,
    stop_condition,
)


@pytest.mark.parametrize(
    ("minutes", "passed", "stops"),
    [(60, 54.9, False), (60, 55.1, True), (14, 13.9, False), (0, 1e6, False)],
)
def test_a_job_stops_five_minutes_before_its_time_limit(minutes, passed, stops):
    """But one that is shorter than 15 minutes, or has no limit, does not."""
    assert stop_condition(minutes, time.monotonic() - 60 * passed)() is stops


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A run of a study that names a catalogue and results, with two others begun in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(RUN, json.dumps({"study outer in results": "1"}))
    (tmp_path / "results").mkdir()
    for name in ("models.csv", "results/plan.csv"):
        (tmp_path / name).write_text("name\n")
    study = {"study": "a", "models": "models.csv", "more": [{"plan": "results/plan.csv"}]}
    begin_run(study)
    begin_run({"study": "b"})  # of two modules of one workflow
    return study


def test_the_study_of_a_run(study, tmp_path):
    check_same_study(study, ["a.yaml"])
    check_same_study(dict(reversed(study.items())), ["a.yaml"])
    (tmp_path / "results/plan.csv").write_text("made by the run\n")
    check_same_study(study, ["a.yaml"])
    with pytest.raises(InputError, match=r"^a.yaml: was edited .* Run the same command again"):
        check_same_study({**study, "confidence": 0.9}, ["a.yaml"])
    (tmp_path / "models.csv").write_text("name,kind\n")
    with pytest.raises(InputError, match=r"^models.csv: was edited since this run began"):
        check_same_study(study, ["a.yaml"])


def test_the_library_of_a_run(study, monkeypatch):
    check_same_library()
    monkeypatch.setattr(jobs, "library_digest", lambda: "another")
    with pytest.raises(InputError, match="matcheval: was edited since this run began"):
        check_same_library()
    monkeypatch.delenv(RUN)
    check_same_library()  # no job of a run
