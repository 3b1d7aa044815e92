"""A suite of corrupted sets in the real workflow, and only what is new or damaged again."""

import shutil

import pandas as pd
import pyarrow.parquet as pq
import pytest
from engine import Workflow

pytestmark = pytest.mark.slow

MODELS = ["linear", "cnn.v1"]
CONFIG = """\
study: shifts
models: studies/small.csv
datasets:
  digits-train: {kind: digits, part: train, rows: [0, 300]}
  digits-validation: {kind: digits, part: validation}
  digits-known: {kind: digits, part: known, per_class: 20}
  train: {kind: corrupted, of: digits-train, corruption: none}
  validation: {kind: corrupted, of: digits-validation, corruption: none}
  known: {kind: corrupted, of: digits-known, corruption: none}
  noise: {kind: corrupted, of: known, corruption: gaussian_noise, severity: 2}
training: {train: train, validation: validation}
pairs: {noise: {original: known, replication: noise}}
matching: {seeds: 1}
figures: {formats: [png]}
suites:
  shifts:
    members:
      - dataset:
          kind: corrupted
          of: digits-known
          corruption: "{corruption}"
          severity: "{severity}"
          stored: true
        values: {corruption: [contrast, gaussian_noise], severity: [2]}
        group: Syn1
        severity: "{severity}"
      - {dataset: noise, group: Syn1, severity: 2}
      - dataset: {kind: corrupted, of: digits-known, corruption: "{made}", severity: 2}
        values: {made: [brightness]}
        group: Syn1
        severity: 2
suite_accuracies: {suites: {shifts: known}}
severity: {suites: {shifts: known}}
hard_images: {datasets: [noise]}
accuracy_prediction:
  suites: {shifts: {base: known, rotation: [noise, contrast-2]}}
  methods: [ac, rotation]
  leave_one_out: false
"""


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    workflow = Workflow.fresh(tmp_path_factory.mktemp("shifts") / "w", CONFIG)
    workflow.keep_models("studies/small.csv", MODELS)
    jobs = workflow.plan().jobs
    assert (jobs["prepare_dataset"], jobs["prepare_made_datasets"]) == (5, 4)
    workflow.run()
    return workflow


def predictions(workflow):
    """Contents and times of the predictions, by set and model."""
    return {
        name: (content, (workflow.results / "predictions" / name).stat().st_mtime_ns)
        for name, content in workflow.artifacts("predictions").items()
    }


def test_only_stored_images_are_files_and_predictions_do_not_differ(workflow):
    stored = {path.parent.name for path in workflow.results.glob("datasets/*/images.npy")}
    digits = {"digits-train", "digits-validation", "digits-known"}
    assert stored == {*digits, "contrast-2", "gaussian_noise-2"}
    for model in MODELS:
        tables = [
            pq.read_table(workflow.results / f"predictions/{name}/{model}.parquet")
            for name in ("noise", "gaussian_noise-2", "known")
        ]
        assert tables[0].num_rows == 200
        made, kept, clean = (table.replace_schema_metadata() for table in tables)
        assert made.equals(kept)
        assert not made.equals(clean)
    assert len(predictions(workflow)) == 5 * 2  # once, whatever a set is part of
    assert workflow.plan().jobs == {}
    workflow.run("check")


def test_models_are_run_again_over_rotated_images_of_the_sets_named(workflow):
    folder = "shifts/accuracy_prediction"
    predicted = workflow.table(f"{folder}/predicted/shifts")
    assert set(predicted["method"]) == {"ac"}  # a score that is no accuracy needs a regression
    files = (workflow.results / folder / "rotation/shifts").glob("*.parquet")
    scores = pd.concat(pd.read_parquet(file) for file in files)
    rotation = scores[scores["variant"] == ""].set_index(["model", "dataset"])["score"]
    assert set(rotation.index) == {
        (model, name) for model in MODELS for name in ("noise", "contrast-2")
    }
    assert (rotation > 0.3).all()  # of four orientations


def test_a_set_that_is_added_changes_nothing_else(copy):
    before = predictions(copy)
    copy.edit("small.yaml", "{made: [brightness]}", "{made: [brightness, saturate]}")
    jobs = copy.plan("suite_accuracies").jobs
    assert jobs["prepare_made_datasets"] == jobs["index_suite"] == jobs["predict_models_1"] == 1
    assert "train_models_1" not in jobs
    copy.run("suite_accuracies")
    after = predictions(copy)
    assert set(after) - set(before) == {f"saturate/{model}.parquet" for model in MODELS}
    assert before.items() <= after.items()  # not even their times
    assert copy.plan("suite_accuracies").jobs == {}


def test_files_that_are_deleted_or_damaged_are_made_again(workflow, copy):
    before = predictions(copy)
    labels = copy.results / "datasets/brightness/datapoints.parquet"
    labels.unlink()
    (copy.results / "predictions/brightness/linear.parquet").unlink()
    damaged = copy.results / "predictions/known/linear.parquet"
    damaged.write_bytes(damaged.read_bytes()[:300])
    for place, folder in (
        ("predictions/brightness/linear.parquet", "predictions"),
        ("datasets/brightness/datapoints.parquet", "datasets"),
    ):
        told = copy.run("predictions", fails=True)
        assert f"results/{place}: no such file, to which results/shifts/{folder}/" in told
        assert f"Delete results/shifts/{folder}, which has links only" in told
        shutil.rmtree(copy.results / "shifts" / folder)
    copy.run("predictions")
    assert labels.is_file()
    changed = {name for name, value in predictions(copy).items() if value != before[name]}
    assert changed == {"brightness/linear.parquet", "known/linear.parquet"}
    assert copy.artifacts("predictions") == workflow.artifacts("predictions")
    assert copy.plan("predictions").jobs == {}


def test_a_killed_job_goes_on_after_the_last_complete_set(workflow, copy):
    shutil.rmtree(copy.results / "predictions")
    shutil.rmtree(copy.results / "shifts/predictions")
    job = "workflow_scripts/matcheval/inference/job.py"
    start = "        with problems.collected():\n            start ="
    kill = "        if name == 'gaussian_noise-2':\n            __import__('os').abort()\n"
    copy.edit(job, start, kill + start)
    copy.run("predictions", fails=True)
    left = predictions(copy)
    assert {name.split("/")[0] for name in left} == {"brightness", "contrast-2", "known", "noise"}
    copy.edit(job, "if name == 'gaussian_noise-2':", "if False:")
    copy.run("predictions")
    assert left.items() <= predictions(copy).items()
    assert copy.artifacts("predictions") == workflow.artifacts("predictions")


def test_another_source_concerns_all_sets_that_are_made_from_it(copy):
    copy.edit("small.yaml", "per_class: 20", "per_class: 19")
    jobs = copy.plan("predictions").jobs
    assert (jobs["prepare_dataset"], jobs["prepare_made_datasets"]) == (3, 2)
    assert "train_models_1" not in jobs
