"""Jobs refuse a study, or a library, that was edited since their run began."""

import json

import pytest

from matcheval.errors import InputError
from matcheval.execution import same_run
from matcheval.execution.same_run import (
    VARIABLE,
    begin_run,
    check_same_library,
    check_same_study,
)


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A run of a study that names a catalogue and results, with two others begun in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, json.dumps({"study outer in results": "1"}))
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
    monkeypatch.setattr(same_run, "library_digest", lambda: "another")
    with pytest.raises(InputError, match="matcheval: was edited since this run began"):
        check_same_library()
    monkeypatch.delenv(VARIABLE)
    check_same_library()  # no job of a run
