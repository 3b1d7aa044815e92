"""Published networks on real CIFAR-10 images, in the whole workflow (docs/results.md)."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from engine import Workflow

from image_sets import CIFAR, needs_cifar

pytestmark = [needs_cifar, pytest.mark.slow]
STUDY = ("--configfile", "studies/cifar10-check.yaml")


@pytest.fixture
def workflow(tmp_path):
    """The study, without its data."""
    workflow = Workflow.fresh(tmp_path / "tree", None)
    (workflow.folder / "data").mkdir()
    return workflow


def test_predictions_are_the_published_ones_image_by_image(workflow):
    """Of a network whose logits were published, on the first images."""
    n = 1000
    data = workflow.folder / "data" / "cifar10"
    data.mkdir()
    for name in ("test.parquet", "test_jpeg.parquet", "train.parquet"):
        pq.write_table(pq.read_table(CIFAR / name)[:n], data / name)
    (data / "weights_more").symlink_to((CIFAR / "weights_more").resolve())
    (workflow.folder / "studies/cifar10-check-models.csv").write_text(
        "name,kind,source,architecture,width,depth,normalization\n"
        "resnet20,checkpoint,data/cifar10/weights_more/cy_resnet20.safetensors,resnet_b,16,20,"
        "cifar10_per_image\n"
    )
    workflow.edit("studies/cifar10-check.yaml", "[resnet20, resnet56]", "[resnet20]")
    workflow.edit("studies/cifar10-check.yaml", "rows: [0, 5000]", "rows: [0, 500]")
    workflow.run(*STUDY)

    with np.load(CIFAR / "zoo_logits.npz") as published:
        logits = published["cifar10_resnet20_pretrainedcy"][:n]
    made = workflow.table("predictions/cifar10-lossless/resnet20")
    np.testing.assert_array_equal(made.prediction, logits.argmax(axis=1))
    table = workflow.table("cifar10-check/tables/jpeg/label_probability")
    assert (table["matched_gap_mean"].abs() < table["gap"].abs()).all()
    assert list((workflow.results / "cifar10-check/figures/jpeg").rglob("*.pdf"))
