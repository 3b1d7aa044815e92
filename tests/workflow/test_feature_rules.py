"""Datasets of features in the real workflow: computed once, trained on, predicted."""

import pytest
from engine import Workflow

from matcheval.datasets.folders import read_dataset

pytestmark = pytest.mark.slow

CONFIG = """\
study: heads
models: studies/small.csv
datasets:
  digits-train: {kind: digits, part: train, rows: [0, 300]}
  digits-known: {kind: digits, part: known, per_class: 20}
  train: &features {kind: features, of: digits-train, callable: "own_network:make"}
  known: {<<: *features, of: digits-known}
training: {train: train, validation: known}
suites: {all: {members: [known]}}
"""
NETWORK = """\
import torch

def make():
    torch.manual_seed(0)
    hidden = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 40), torch.nn.ReLU())
    torch.nn.init.normal_(hidden[1].weight)
    return torch.nn.Sequential(hidden, torch.nn.Linear(40, 10))
"""


def test_features_are_computed_once_and_heads_trained_on_them(tmp_path):
    workflow = Workflow.fresh(tmp_path / "w", CONFIG)
    network = workflow.folder / "own_network.py"
    network.write_text(NETWORK)
    workflow.keep_models("studies/small.csv", ["linear", "mlp"])
    jobs = workflow.plan().jobs
    assert (jobs["extract_features"], jobs["train_models_1"]) == (2, 1)
    workflow.run()
    assert read_dataset(workflow.results / "datasets/known").images.shape == (200, 1, 1, 40)
    found = workflow.table("predictions/known/linear")
    assert (found.label == found.prediction).mean() > 0.4
    assert workflow.plan().jobs == {}
    network.write_text(NETWORK + "# another network\n")
    assert workflow.plan().jobs["extract_features"] == 2
