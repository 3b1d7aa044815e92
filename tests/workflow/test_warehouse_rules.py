"""A warehouse in the real workflow: sets from images, and only what a decision concerns again."""

import pyarrow.parquet as pq
import pytest
from engine import Workflow

from collected import Collection
from matcheval.datasets.folders import read_dataset

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


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    workflow = Workflow.fresh(tmp_path_factory.mktemp("warehouse") / "w", small=True)
    (workflow.folder / "small.yaml").write_text(STUDY)
    (workflow.folder / "collected").mkdir()
    return workflow


def test_a_decision_repeats_its_set_alone(workflow):
    collection = Collection(workflow.folder / "collected")
    collection.add(b"", "G/A-red/cat/empty.png")
    collection.file()
    workflow.run("warehouse")
    results = workflow.folder / "results"
    manifest = pq.read_table(results / "warehouses/w/images.parquet").to_pylist()
    assert [row["status"] for row in manifest].count("kept") == 12
    datasets = {name: read_dataset(results / "datasets" / name) for name in ("A-red", "B-blue")}
    assert [len(each) for each in datasets.values()] == [6, 6]
    assert datasets["A-red"].image_shape == (32, 32, 3)
    assert workflow.plan("warehouse").jobs == {}

    collection.decide((manifest[-1]["image_id"], "reject", "noise"))
    collection.file()
    jobs = {"decide_warehouse_set": 1, "export_warehouse_set": 1, "document_warehouse": 1}
    assert workflow.plan("warehouse").jobs == {**jobs, "warehouse": 1}
    workflow.run("warehouse")
    assert len(read_dataset(results / "datasets" / "B-blue")) == 5
    assert workflow.plan("warehouse").jobs == {}
