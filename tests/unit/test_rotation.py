"""Rotation scores: turned images, the classifier of orientations, and the job that runs a model."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scipy.special import softmax

import score_rotation
from image_sets import dataset
from matcheval.accuracy_prediction.scores import SCORES
from matcheval.accuracy_prediction.scores.features import (
    fit_rotation_head,
    orientation_accuracy,
    orientation_auc,
    orientation_logits,
)
from matcheval.accuracy_prediction.scores.outputs import Outputs
from matcheval.accuracy_prediction.scores.score import Sides
from matcheval.accuracy_prediction.scoring import SCORES as TABLE
from matcheval.datasets.folders import read_dataset
from matcheval.datasets.prepare import build_dataset
from matcheval.datasets.suites import Member, Suite
from matcheval.execution.entry_points import run_script
from matcheval.inference import running
from matcheval.inference.job import InferenceConfig, predict_datasets
from matcheval.inference.readers import ArrayReader, RotatedReader
from matcheval.inference.store import ModelFiles
from matcheval.models.networks import as_network, build_model
from matcheval.models.rows import ModelSource

OPTIONS = {"architecture": "linear", "width": 0, "depth": 0, "normalization": "none"}


@pytest.mark.parametrize(("start", "stop"), [(0, 20), (3, 9)])
def test_any_block_of_turned_images(start, stop):
    pixels = np.arange(5 * 3 * 3 * 3, dtype=np.uint8).reshape(5, 3, 3, 3)
    reader = RotatedReader(ArrayReader(dataset(pixels, np.zeros(5, int))), "x")
    out = np.empty((stop - start, 3, 3, 3), np.uint8)
    reader.read(start, stop, out)
    for row, i in enumerate(range(start, stop)):  # counter-clockwise
        np.testing.assert_array_equal(out[row], np.rot90(pixels[i // 4], i % 4))


def test_the_head_depends_on_no_images_but_those_it_is_fitted_on():
    """Half of the base is kept out, the same half for the same seed."""
    noise = np.random.default_rng(0).normal(size=(12, 4, 6))
    features = (np.eye(4, 6) + noise).astype(np.float32)
    head, n_used = fit_rotation_head(features, seed=3), 0
    for i in range(len(features)):
        changed = features.copy()
        changed[i] += np.random.default_rng(i).normal(size=(4, 6)) * 50
        n_used += (fit_rotation_head(changed, seed=3).weights != head.weights).any()
    assert 4 <= n_used <= 6


def test_auc_is_the_mean_over_orientations_of_one_against_the_rest():
    logits = np.random.default_rng(0).normal(size=(9, 4, 4)).astype(np.float32)
    p, true = softmax(logits.reshape(-1, 4).astype(float), axis=1), np.tile(range(4), 9)
    areas = [np.mean([a > b for a in p[true == k, k] for b in p[true != k, k]]) for k in range(4)]
    assert orientation_auc(logits) == pytest.approx(np.mean(areas), rel=1e-12)


def test_scores_are_of_the_datapoints_that_count():
    right = np.eye(4, dtype=np.float32)
    logits = np.stack([right, np.roll(right, 1, axis=0), right])
    target = Outputs(None, np.zeros(3, int), np.ones(3), orientations=logits)
    for rows, expected in (([0, 1, 2], 2 / 3), ([1], 0)):
        sides = Sides(target, target.rows(np.array(rows)))
        assert SCORES["rotation"].compute(None, sides) == pytest.approx(expected)


GROUPS = {"plain": "clean", "noisy": "noise"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A linear network whose features are the pixels, a base of digits, and two sets."""
    root = tmp_path_factory.mktemp("rotation")
    digits = build_dataset("base", "digits", {"part": "known"})
    parts = {"base": slice(0, 200), "plain": slice(200, 260), "noisy": slice(260, 320)}
    for name, rows in parts.items():
        pixels = np.array(digits.images[rows])
        if name == "noisy":
            pixels = np.random.default_rng(0).integers(0, 17, pixels.shape, np.uint8)
        dataset(pixels, digits.labels[rows], name, digits.classes, 16, root / "datasets")
    torch.manual_seed(0)
    network = build_model("linear", width=0, depth=0, input_shape=(8, 8, 1), n_classes=10)
    weights = root / "m.safetensors"
    save_file(network.state_dict(), weights)
    source = ModelSource("m", "checkpoint", str(weights), OPTIONS)
    folders = {name: root / "datasets" / name for name in parts}
    config = InferenceConfig()
    predict_datasets([ModelFiles(source, weights)], folders, root / "predictions", config=config)
    stored = {
        "base": "base", "classes": str(folders["base"] / "dataset.json"), "rule": {},
        "suite": asdict(Suite("s", tuple(Member(*of) for of in GROUPS.items()))),
        "files": {"stems": {name: f"{root}/predictions/{name}/{{model}}" for name in parts}},
    }  # fmt: skip
    job = {
        "model": asdict(source), "weights": str(weights), "stored": stored,
        "methods": ["rotation", "rotation:auc"], "datasets": str(root / "datasets"),
    }  # fmt: skip
    return job, network


def run(job, folder):
    out = folder / "scores.parquet"
    text = json.dumps({**job, "folder": str(folder / "kept")})
    run_script(score_rotation.score, ["--job", text, "--scores", str(out)])
    return TABLE.read(out).to_pandas()


class TestJob:
    def test_scores_are_those_of_the_models_features(self, inputs, tmp_path):
        job, network = inputs
        table = run(job, tmp_path)
        assert list(zip(table.dataset, table.variant, strict=True)) == [
            ("plain", ""), ("plain", "auc"), ("noisy", ""), ("noisy", "auc"),
        ]  # fmt: skip
        features = as_network(network, features=True, name="m")

        def turned(name):
            images = read_dataset(f"{job['datasets']}/{name}")
            pixels = images.pixels[..., 0].astype(np.float32) / 16
            copies = [np.rot90(pixels, k, axes=(1, 2)) for k in range(4)]
            with torch.no_grad():
                rows = [features(torch.tensor(x.copy())[:, None])[1].numpy() for x in copies]
            return np.stack(rows, axis=1)

        head = fit_rotation_head(turned("base"), seed=0)
        for name in ("plain", "noisy"):
            expected = orientation_accuracy(orientation_logits(head, turned(name)))
            found = table[(table.dataset == name) & (table.variant == "")].iloc[0]
            assert found.score == pytest.approx(expected, abs=1 / 240)  # the last bits of features
            assert (found.n, found.n_base, found.group) == (60, 200, GROUPS[name])
        plain, noisy = table[table.variant == ""].score
        assert plain > 0.7
        assert noisy == pytest.approx(0.25, abs=0.1)

    def test_what_is_there_is_not_computed_again(self, inputs, tmp_path, monkeypatch):
        passes, run_rotated = [], running.ModelRunner.run_rotated

        def recorded(self, model, dataset, writer):
            passes.append(dataset.name)
            run_rotated(self, model, dataset, writer)

        job, _ = inputs
        first = run(job, tmp_path)
        monkeypatch.setattr(running.ModelRunner, "run_rotated", recorded)
        assert run(job, tmp_path).equals(first)
        assert not passes
        (tmp_path / "kept" / "base" / "plain" / "m.0.npz").write_bytes(b"PK")
        assert run(job, tmp_path).equals(first)
        assert passes == ["base", "plain"]
