"""Downloaded datasets in the real workflow: from a mirror, changed files, without a network."""

import json
from functools import cache

import numpy as np
import pytest
from engine import Workflow

from image_sets import cifar10_tar, cifar_images, encode, npy, sources_yaml
from servers import serving

pytestmark = pytest.mark.slow

IMAGES, LABELS = cifar_images(60)
TARGETS = [f"results/datasets/{name}/dataset.json" for name in ("old", "new", "own")]
SOURCES = "workflow_scripts/matcheval/downloads/sources.yaml"
CONFIG = """\
study: images
mirror: {address}
models: studies/digits-models.csv
datasets:
  old: {{kind: cifar10, part: test}}
  new: {{kind: cifar10_1, version: v6, per_class: 3}}
  own: {{kind: image_folder, path: own, classes: cifar10, resize: 32}}
training: {{train: old, validation: own}}
pairs: {{both: {{original: old, replication: new}}}}
"""


@cache  # gzip writes the time into its header
def files():
    return {
        "cifar-10-python.tar.gz": cifar10_tar(IMAGES, LABELS),
        "cifar10.1_v6_data.npy": npy(IMAGES[::-1]),
        "cifar10.1_v6_labels.npy": npy(LABELS[::-1].astype(np.int32)),
    }


@pytest.fixture(scope="module")
def server():
    with serving() as running:
        running.files = files()
        yield running


@pytest.fixture(scope="module")
def workflow(tmp_path_factory, server):
    """A study of two downloaded sets and a custom one, its datasets made. Not to be changed."""
    config = CONFIG.format(address=server.address)
    workflow = Workflow.fresh(tmp_path_factory.mktemp("downloaded") / "tree", config)
    (workflow.folder / SOURCES).write_text(sources_yaml(files()))
    for i in range(20):
        path = workflow.folder / "own" / ("cat" if i % 2 else "dog") / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode(IMAGES[i]))
    workflow.run(*TARGETS)
    return workflow


def test_datasets_come_through_the_mirror(workflow, server):
    assert {request.path for request in server.requests} == set(files())
    folder = workflow.results / "datasets"
    assert np.array_equal(np.load(folder / "old/images.npy"), IMAGES)
    assert np.load(folder / "own/images.npy").shape == (20, 32, 32, 3)
    description = json.loads((folder / "new/dataset.json").read_text())
    assert set(description["provenance"]["files"]) == set(files()) - {"cifar-10-python.tar.gz"}
    assert description["n"] == sum(min(3, (label == LABELS).sum()) for label in range(10))
    assert workflow.plan(*TARGETS).jobs == {}
    assert workflow.plan(*TARGETS, "--config", "mirror=/elsewhere").jobs == {}


def test_without_a_network_files_are_put_there_by_hand(copy):
    file = copy.results / "downloads/cifar10.1_v6_data.npy"
    (copy.folder / TARGETS[1]).unlink()
    content = file.read_bytes()
    file.unlink()
    target = (TARGETS[1], "--config", "mirror=nowhere")
    output = copy.run(*target, fails=True)
    assert "put the file at results/downloads/cifar10.1_v6_data.npy by hand" in output
    file.write_bytes(content[:-1] + b"x")
    assert "cifar10.1_v6_data.npy: has sha256" in copy.run(*target, fails=True)
    assert file.exists()
    file.write_bytes(content)
    copy.run(*target)


def test_classes_that_only_the_files_tell_are_compared(copy):
    for old, new in (
        ("path: own, classes: cifar10, resize: 32}", "path: own, resize: 32}"),
        ("replication: new", "replication: own"),
        ("validation: own", "validation: old"),
    ):
        copy.edit("small.yaml", old, new)
    matched = "results/images/matched/both/probability/000.parquet"
    assert copy.plan(TARGETS[0], matched).jobs["compare_classes"] == 1
    output = copy.run("results/images/classes/both.txt", fails=True)
    different = "compared with 'old': different classes: 'airplane', 'automobile'"
    assert f"own: 'classes': {different}" in output
