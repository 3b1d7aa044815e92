"""Retraining in the real workflow: all four kinds of experiments, from sets to pages."""

import pandas as pd
import pytest
from engine import Workflow

pytestmark = pytest.mark.slow

CONFIG = """
study: retrained
models: studies/small.csv
datasets:
  train: {kind: digits, part: train, per_class: 12}
  validation: {kind: digits, part: validation, per_class: 4}
  known: {kind: digits, part: known, per_class: 12}
  writers: {kind: digits, part: new-writers, per_class: 12}
training: {train: train, validation: validation, models_per_job: 1}
pairs:
  both: {original: known, replication: writers}
retraining:
  experiments:
    half: {kind: half_of_new, models: [linear], pair: both, seeds: 1}
    folds: {kind: cross_validation, models: [linear], pair: both, folds: 2, seed: 0}
    origins:
      {kind: discriminator, models: [linear], pair: both, per_set: 80, test_fraction: 0.5, seed: 0}
    grid: {kind: grid, models: [linear], pair: both, values: {learning_rate: [0.1, 0.2]}}
"""


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    """All experiments of a linear model, made once. Not to be changed."""
    workflow = Workflow.fresh(tmp_path_factory.mktemp("retrained") / "tree", CONFIG)
    workflow.keep_models("studies/small.csv", ["linear"])
    workflow.run("retraining")
    return workflow


def test_every_experiment_has_its_table_and_its_findings(workflow):
    made = workflow.results / "retrained" / "retraining"
    tables = {path.stem: pd.read_parquet(path) for path in made.glob("*.parquet")}
    # Half of the new set was left to test on, a fold is half of the training set, and the
    # discriminator is tested on half of 2 × 80 images.
    assert {name: sorted(table.n) for name, table in tables.items()} == {
        "half": [60, 60, 120, 120], "folds": [60, 60, 120, 120], "origins": [80], "grid": [120] * 4,
    }  # fmt: skip
    for name, table in tables.items():
        assert table.accuracy.between(table.accuracy_low, table.accuracy_high).all(), name
        assert (made / f"{name}.csv").stat().st_size
    assert "best on writers: " in (made / "grid.md").read_text()
    # The study's own model is trained once for all.
    checkpoints = {f.stem for f in (workflow.results / "checkpoints").glob("*.safetensors")}
    assert len(checkpoints) == 1 + 1 + 2 + 1 + 1
    assert "linear" in checkpoints


def test_another_value_trains_no_more_than_it_must(copy):
    assert copy.plan("retraining").jobs == {}
    copy.edit("small.yaml", "learning_rate: [0.1, 0.2]", "learning_rate: [0.1, 0.2, 0.4]")
    assert copy.plan("retraining").jobs == {
        "train_model": 1, "predict_dataset": 2, "tabulate_retraining": 1, "retraining": 1,
    }  # fmt: skip
