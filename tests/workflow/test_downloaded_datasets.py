"""Downloaded datasets in the real workflow: from a mirror, changed files, without a network."""

import json
import os
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from engine import Workflow

sys.path.insert(0, str(Path(__file__).parents[1]))
from image_sets import cifar10_tar, cifar_images, encode, npy, sources_yaml
from servers import serving

IMAGES, LABELS = cifar_images(60)
TARGETS = [f"results/datasets/{name}/dataset.json" for name in ("old", "new", "own")]
SOURCES = "workflow_scripts/matcheval/downloads/sources.yaml"


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
def made(tmp_path_factory, server):
    """A study of two downloaded sets and one of one's own, its datasets made. Not to be changed."""
    workflow = Workflow.fresh(tmp_path_factory.mktemp("downloaded") / "tree", small=False)
    folder = workflow.folder
    (folder / SOURCES).write_text(sources_yaml(files()))
    for i in range(20):
        path = folder / "own" / ("cat" if i % 2 else "dog") / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode(IMAGES[i]))
    (folder / "images.yaml").write_text(f"""
study: images
mirror: {server.address}
models: studies/digits-models.csv
datasets:
  old: {{kind: cifar10, part: test}}
  new: {{kind: cifar10_1, version: v6, per_class: 3}}
  own: {{kind: image_folder, path: own, classes: cifar10, resize: 32}}
training: {{train: old, validation: own}}
pairs: {{both: {{original: old, replication: new}}}}
""")
    server.failures["cifar-10-python.tar.gz"] = [("cut", 20_000), ("status", 503)]
    workflow.run(*TARGETS, "--configfile", "images.yaml")
    return workflow


def test_datasets_come_through_the_mirror(made, server):
    assert {request.path for request in server.requests} == set(files())
    cut = [r for r in server.requests if r.path == "cifar-10-python.tar.gz"]
    assert [r.status for r in cut] == [200, 503, 206]
    folder = made.folder / "results" / "datasets"
    assert np.array_equal(np.load(folder / "old" / "images.npy"), IMAGES)
    assert np.load(folder / "own" / "images.npy").shape == (20, 32, 32, 3)
    description = json.loads((folder / "new" / "dataset.json").read_text())
    assert set(description["provenance"]["files"]) == set(files()) - {"cifar-10-python.tar.gz"}
    assert description["n"] == sum(min(3, (label == LABELS).sum()) for label in range(10))
    log = (made.folder / "results/logs/download_file/cifar-10-python.tar.gz.log").read_text()
    assert "HTTP 503" in log


def test_a_second_run_has_nothing_to_do(made):
    assert made.plan(*TARGETS, "--configfile", "images.yaml").jobs == {}
    other = made.plan(*TARGETS, "--configfile", "images.yaml", "--config", "mirror=/elsewhere")
    assert other.jobs == {}


def test_a_changed_image_of_ones_own_is_prepared_again(made, tmp_path):
    workflow = made.copy_to(tmp_path / "tree")
    path = workflow.folder / "own" / "cat" / "1.png"
    path.write_bytes(encode(IMAGES[30]))
    os.utime(path, (1, 1))
    plan = workflow.plan(*TARGETS, "--configfile", "images.yaml")
    assert plan.jobs == {"prepare_dataset": 1}


def test_without_a_network_files_are_put_there_by_hand(made, tmp_path):
    workflow = made.copy_to(tmp_path / "tree")
    file = workflow.folder / "results" / "downloads" / "cifar10.1_v6_data.npy"
    (workflow.folder / TARGETS[1]).unlink()
    content = file.read_bytes()
    file.unlink()
    target = (TARGETS[1], "--configfile", "images.yaml", "--config", "mirror=nowhere")
    result = workflow.run(*target, check=False)
    output = result.stdout + result.stderr
    assert "nowhere/cifar10.1_v6_data.npy: no such file" in output
    assert "put the file at results/downloads/cifar10.1_v6_data.npy by hand" in output
    file.write_bytes(content[:-1] + b"x")
    result = workflow.run(*target, check=False)
    assert "cifar10.1_v6_data.npy: has sha256" in result.stdout + result.stderr
    assert file.exists()
    file.write_bytes(content)
    workflow.run(*target)


def test_classes_that_only_the_files_tell_are_compared(made, tmp_path):
    workflow = made.copy_to(tmp_path / "tree")
    config = (workflow.folder / "images.yaml").read_text()
    config = config.replace("path: own, classes: cifar10, resize: 32}", "path: own, resize: 32}")
    config = config.replace("replication: new", "replication: own")
    config = config.replace("validation: own", "validation: old")
    (workflow.folder / "images.yaml").write_text(config)
    target = "results/images/classes/both.txt"
    plan = workflow.plan(*TARGETS[:1], "results/images/matched/both/probability/000.parquet",
                         "--configfile", "images.yaml")  # fmt: skip
    assert plan.jobs["compare_classes"] == 1
    result = workflow.run(target, "--configfile", "images.yaml", check=False)
    output = result.stdout + result.stderr
    assert (
        "own: 'classes': compared with 'old': different classes: 'airplane', 'automobile'" in output
    )
