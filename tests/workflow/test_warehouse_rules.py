"""A warehouse in the real workflow: sets from images, and only what a decision concerns again."""

import pytest
from engine import Workflow

from collected import Collection
from matcheval.datasets.folders import read_dataset

pytestmark = pytest.mark.slow

STUDY = """\
study: collected
models: studies/small.csv
datasets:
  digits-train: {kind: digits, part: train}
  digits-validation: {kind: digits, part: validation}
training: {train: digits-train, validation: digits-validation}
suites: {mine: {members: [{warehouse: collected/w.yaml}]}}
figures: {formats: [png]}
"""


def test_a_decision_repeats_its_set_alone(tmp_path):
    workflow = Workflow.fresh(tmp_path / "w", STUDY)
    (workflow.folder / "collected").mkdir()
    collection = Collection(workflow.folder / "collected")
    collection.add(b"", "G/A-red/cat/empty.png")
    collection.file()
    workflow.run("warehouse")
    images = workflow.table("warehouses/w/images")
    assert (images.status == "kept").sum() == 12
    datasets = [read_dataset(workflow.results / "datasets" / name) for name in ("A-red", "B-blue")]
    assert [len(each) for each in datasets] == [6, 6]
    assert datasets[0].image_shape == (32, 32, 3)
    assert workflow.plan("warehouse").jobs == {}

    collection.decide((images.image_id.iloc[-1], "reject", "noise"))
    collection.file()
    jobs = {"decide_warehouse_set": 1, "export_warehouse_set": 1, "document_warehouse": 1}
    assert workflow.plan("warehouse").jobs == {**jobs, "warehouse": 1}
    workflow.run("warehouse")
    assert len(read_dataset(workflow.results / "datasets/B-blue")) == 5
    assert workflow.plan("warehouse").jobs == {}
