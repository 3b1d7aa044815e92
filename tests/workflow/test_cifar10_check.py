"""Published networks on real CIFAR-10 images, through the whole workflow (docs/cifar10-check.md).

By default only the smallest network is run; MATCHEVAL_WHOLE_CHECK=1 runs all four, for minutes.
"""

import os

import pandas as pd
from engine import Workflow

from cifar import CIFAR, needs_cifar

# In percent: on the test images as published, on their JPEG files as measured with other code.
PUBLISHED = {"resnet20": 91.73, "resnet32": 92.63, "resnet44": 93.10, "resnet56": 93.39}
JPEG = {"resnet20": 81.03}


@needs_cifar
def test_accuracies_are_the_published_ones(tmp_path):
    workflow = Workflow.fresh(tmp_path / "tree", small=False)
    (workflow.folder / "data").mkdir()
    (workflow.folder / "data" / "cifar10").symlink_to(CIFAR.resolve())
    names = list(PUBLISHED)
    if not os.environ.get("MATCHEVAL_WHOLE_CHECK"):
        names = names[:1]
        catalogue = workflow.folder / "studies" / "cifar10-check-models.csv"
        lines = catalogue.read_text().splitlines(keepends=True)
        catalogue.write_text("".join(lines[:2]))
        workflow.edit("studies/cifar10-check.yaml", "[resnet20, resnet56]", "[resnet20]")
    workflow.run("--configfile", "studies/cifar10-check.yaml")

    results = workflow.folder / "results" / "cifar10-check"
    top1 = pd.read_parquet(results / "replication" / "jpeg" / "top1.parquet").set_index("model")
    original = (100 * top1["accuracy_original"]).round(4).to_dict()
    assert original == {name: PUBLISHED[name] for name in names}
    assert round(100 * top1["accuracy_replication"]["resnet20"], 4) == JPEG["resnet20"]
    table = pd.read_parquet(results / "tables" / "jpeg" / "label_probability.parquet")
    assert (table["matched_gap_mean"].abs() < table["gap"].abs()).all()
    assert list((results / "figures" / "jpeg").rglob("*.pdf"))
