"""A suite in the real workflow: a job per model, and only what is new or damaged again."""

import re
import shutil

import numpy as np
import pytest
from engine import Workflow

from matcheval.datasets.prepare import build_dataset

CONFIG = """\
study: suites
models: studies/small.csv
datasets:
  digits-train: {kind: digits, part: train}
  digits-validation: {kind: digits, part: validation}
  digits-known: {kind: digits, part: known}
  digits-new-writers: {kind: digits, part: new-writers}
training: {train: digits-train, validation: digits-validation}
pairs: {new-writers: {original: digits-known, replication: digits-new-writers}}
matching: {seeds: 1}
figures: {formats: [png]}
suites:
  noise:
    members:
      - dataset:
          kind: arrays
          file: "noise/{severity}.npz"
          max_value: 16
          classes: ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
        name: "noise-{severity}"
        severity: "{severity}"
  all: {members: [digits-new-writers, {suite: noise}]}
suite_accuracies: {suites: {all: digits-known}}
"""
MODELS = ["cnn.v1", "linear", "mlp"]


def write_noise(workflow, severity):
    digits = build_dataset("d", "digits", {"part": "validation"})
    noise = np.random.default_rng(severity).normal(0, severity, digits.images.shape)
    images = np.clip(digits.images + noise.round(), 0, 16).astype(np.uint8)
    folder = workflow.folder / "noise"
    folder.mkdir(exist_ok=True)
    np.savez(folder / f"{severity}.npz", images=images, labels=digits.labels)


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    workflow = Workflow.fresh(tmp_path_factory.mktemp("suites") / "w", CONFIG)
    for severity in (1, 2, 4):
        write_noise(workflow, severity)
    plan = workflow.plan()
    assert (plan.jobs["predict_datasets"], plan.jobs["prepare_dataset"]) == (3, 7)
    workflow.run()
    return workflow


def predictions(workflow):
    """Contents and times of the predictions, by set and model."""
    return {
        name: (content, (workflow.results / "predictions" / name).stat().st_mtime_ns)
        for name, content in workflow.artifacts("predictions").items()
    }


def test_a_set_is_computed_once_per_model_whatever_it_is_part_of(workflow):
    assert len(predictions(workflow)) == 5 * 3
    assert workflow.plan().jobs == {}
    log = workflow.results / "suites/logs/predict_datasets/mlp.log"
    assert log.read_text().count("mlp on ") == 5


def test_a_set_that_is_added_changes_nothing_else(copy):
    before = predictions(copy)
    write_noise(copy, 8)
    jobs = copy.plan().jobs
    assert (jobs["prepare_dataset"], jobs["index_suite"], jobs["predict_datasets"]) == (1, 2, 3)
    assert "train_model" not in jobs
    copy.run("suite_accuracies")
    after = predictions(copy)
    assert set(after) - set(before) == {f"noise-8/{model}.parquet" for model in MODELS}
    assert before.items() <= after.items()  # not even their times
    assert copy.plan("suite_accuracies").jobs == {}


def test_files_that_are_deleted_damaged_or_replaced_are_made_again(workflow, copy):
    before = predictions(copy)
    (copy.results / "predictions/noise-1/mlp.parquet").unlink()
    told = copy.run("--dry-run", fails=True)
    assert "results/predictions/noise-1/mlp.parquet: no such file, to which results/suites" in told
    folder = re.search(r"Delete (\S+), which has links only", told)[1]
    assert folder == "results/suites/predictions"
    shutil.rmtree(copy.folder / folder)
    damaged = copy.results / "predictions/digits-known/linear.parquet"
    damaged.write_bytes(damaged.read_bytes()[:300])
    assert len(copy.plan("predictions").predicted) == 3
    copy.run("predictions")
    changed = {name for name, value in predictions(copy).items() if value != before[name]}
    assert changed == {"noise-1/mlp.parquet", "digits-known/linear.parquet"}
    assert copy.artifacts("predictions") == workflow.artifacts("predictions")
    assert copy.plan("predictions").jobs == {}


def test_a_killed_job_goes_on_after_the_last_complete_set(workflow, copy):
    shutil.rmtree(copy.results / "predictions")
    shutil.rmtree(copy.results / "suites/predictions")
    job = "workflow_scripts/matcheval/inference/job.py"
    start = "        with problems.collected():\n            start ="
    kill = "        if name == 'noise-2':\n            __import__('os').abort()\n"
    copy.edit(job, start, kill + start)
    copy.run("predictions", fails=True)
    left = predictions(copy)
    sets = {"digits-known", "digits-new-writers", "noise-1"}
    assert {name.split("/")[0] for name in left} == sets
    copy.edit(job, "if name == 'noise-2':", "if False:")
    copy.run("predictions")
    assert left.items() <= predictions(copy).items()
    assert copy.artifacts("predictions") == workflow.artifacts("predictions")
