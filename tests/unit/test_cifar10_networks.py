"""The published networks of studies/cifar10-shifts.yaml, by the workflow's own inference."""

import csv
from pathlib import Path

import numpy as np
import pytest

from image_sets import CIFAR, cifar_images, dataset, needs_cifar
from matcheval.datasets.label_spaces import CIFAR10
from matcheval.inference.job import predict_datasets
from matcheval.inference.outputs import read_vectors
from matcheval.inference.settings import InferenceConfig
from matcheval.inference.store import ModelFiles, output_files
from matcheval.models.rows import ModelSource

STUDIES = Path(__file__).parents[2] / "studies"
N = 300

with (STUDIES / "cifar10-shifts-models.csv").open(encoding="utf-8") as stream:
    ROWS = {row.pop("name"): row for row in csv.DictReader(stream)}
# Features, where they are not the 64 of the ResNets.
WIDTHS = {"cy_shufflenetv2_x0_5": 1024, "lmfrnet": 464} | {f"tutorial_net_{x}": 84 for x in "abc"}


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    """Logits and features of a network on the first test images."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cifar10").symlink_to(CIFAR.resolve())
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(STUDIES))
    dataset(*cifar_images(N), "set", CIFAR10, folder=tmp_path)

    def outputs(name):
        row = dict(ROWS[name])
        del row["note"]
        # Among the tests, `studies` is another module.
        row["source"] = row["source"].removeprefix("studies.")
        model = ModelSource.from_row(name, row.pop("kind"), row)
        weights = Path(model.source) if model.kind == "checkpoint" else None
        kinds = ("logits", "features")
        sets = {"set": tmp_path / "set"}
        predict_datasets(
            [ModelFiles(model, weights)], sets, tmp_path, kinds, config=InferenceConfig()
        )
        files = output_files(tmp_path, "set", name, kinds)
        return tuple(read_vectors(files[kind], kind).values for kind in kinds)

    return outputs


@pytest.mark.slow
@needs_cifar
@pytest.mark.parametrize("name", ROWS)
def test_networks_classify_as_published(name, outputs):
    """The note has the accuracy on all 10,000 images; 300 of them agree within chance.

    For the networks whose logits were published with others, all logits are equal.
    """
    logits, features = outputs(name)
    published = float(ROWS[name]["note"].split(" %")[0]) / 100
    accuracy = np.mean(logits.argmax(axis=1) == cifar_images(N)[1])
    assert abs(accuracy - published) < 4 * np.sqrt(published * (1 - published) / N)
    assert features.shape == (N, WIDTHS.get(name, 64))
    if name.startswith("cy_"):
        with np.load(CIFAR / "zoo_logits.npz") as zoo:
            known = zoo[f"cifar10_{name.removeprefix('cy_')}_pretrainedcy"][:N]
        assert np.abs(logits - known).max() < 1e-3
