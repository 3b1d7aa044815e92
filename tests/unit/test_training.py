import csv
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from warm import warm_python

from matcheval.datasets.build import build_dataset
from matcheval.datasets.dataset import make_dataset
from matcheval.datasets.folders import write_dataset
from matcheval.errors import InputError
from matcheval.models.checkpoints import load_checkpoint
from matcheval.models.loading import state_digest
from matcheval.training.loop import HISTORY, train, train_to_checkpoint
from matcheval.training.optimizers import learning_rate_factor
from matcheval.training.recipe import Recipe
from matcheval.training.run import Run
from matcheval.training.seeds import derived_seed
from matcheval.training.settings import Engine

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"
RECIPE = Recipe(
    architecture="cnn", width=4, depth=1, loss="cross_entropy", loss_parameter=None,
    augmentation="shift", schedule="cosine", epochs=3, batch_size=32, learning_rate=0.05,
    weight_decay=0.0005, train_fraction=0.5, seed=0,
)  # fmt: skip


@pytest.fixture(scope="module")
def sets():
    known, validation = (
        build_dataset(f"digits-{part}", "digits", {"part": part})
        for part in ("train", "validation")
    )
    return [known], validation


@pytest.fixture(scope="module")
def folders(sets, tmp_path_factory):
    root = tmp_path_factory.mktemp("datasets")
    for dataset in (*sets[0], sets[1]):
        write_dataset(dataset, root / dataset.name)
    return [root / sets[0][0].name], [root / sets[1].name]


def test_derived_seeds_are_fixed_and_distinct():
    assert derived_seed("a", 1) == derived_seed("a", 1)
    assert derived_seed("a", 1, "order") == 5880750759600307673
    assert len({derived_seed(*p) for p in [("a", 1), ("a1",), ("a", 11), ("a1", 1)]}) == 4


def test_training_is_byte_identical_and_ignores_global_state(folders, tmp_path):
    for name in ("one", "two"):
        torch.manual_seed(len(name) + ord(name[0]))
        np.random.seed(ord(name[0]))  # noqa: NPY002 - the global state must not matter
        state = torch.random.get_rng_state()
        train_to_checkpoint(
            "m", json.dumps(RECIPE.to_mapping()), *folders,
            tmp_path / f"{name}.safetensors", tmp_path / f"{name}.csv",
        )  # fmt: skip
        assert torch.equal(torch.random.get_rng_state(), state)
    for suffix in ("safetensors", "csv"):
        one, two = (tmp_path / f"{name}.{suffix}" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


def test_name_and_seed_change_everything_random(sets):
    runs = [train("m", RECIPE, *sets), train("n", RECIPE, *sets)]
    runs.append(train("m", replace(RECIPE, seed=1), *sets))
    weights = [run.state["0.weight"] for run in runs]
    assert not any(torch.equal(weights[i], weights[j]) for i, j in [(0, 1), (0, 2), (1, 2)])


def test_the_model_learns(sets):
    run = train(
        "m", replace(RECIPE, width=8, epochs=8, train_fraction=1.0, augmentation="none"), *sets
    )
    losses = [epoch.train_loss for epoch in run.history]
    assert losses[-1] < losses[0] / 2
    assert run.history[-1].validation_accuracy > 0.8
    assert [epoch.epoch for epoch in run.history] == list(range(1, 9))
    assert run.history[-1].learning_rate == pytest.approx(
        0.05 * learning_rate_factor("cosine", 151, 152)
    )


def test_only_the_fraction_of_the_training_set_is_used(sets):
    recipe = replace(RECIPE, train_fraction=0.1, epochs=1, augmentation="none")
    run = Run("m", recipe, sets[0], Engine(), torch.device("cpu"))
    ((_, rows),) = run.domains
    assert len(rows) == 60
    (known,), validation = sets
    others = np.setdiff1d(np.arange(600), rows)
    images = known.images.copy()
    images[others] = 16 - images[others]
    changed = replace(known, images=images)
    before, after = (train("m", recipe, [data], validation).state for data in (known, changed))
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_divergence_is_reported_with_model_and_epoch(sets):
    recipe = replace(RECIPE, learning_rate=1e30, augmentation="none")
    with pytest.raises(InputError, match=r"m: 'learning_rate': training diverged in epoch 1"):
        train("m", recipe, *sets)


def test_sets_of_different_pixel_ranges_are_rejected(sets):
    other = make_dataset(
        "other", np.zeros((4, 8, 8, 1), np.uint8), np.zeros(4, int),
        classes=sets[0][0].classes, max_value=255, source="",
    )  # fmt: skip
    with pytest.raises(InputError, match="'max_value': is 255 in other, but 16 in digits-train"):
        train("m", RECIPE, sets[0], other)


def test_no_batch_holds_a_single_image(sets):
    small = make_dataset(
        "small", sets[0][0].images[:33], sets[0][0].labels[:33],
        classes=sets[0][0].classes, max_value=16, source="",
    )  # fmt: skip
    recipe = replace(RECIPE, architecture="resnet", train_fraction=1.0, epochs=1)
    assert len(train("m", recipe, [small], sets[1]).history) == 1


def command(folders, tmp_path, recipe):
    return [
        warm_python(), str(SCRIPTS / "train_model.py"), "--name", "cli", "--recipe", recipe,
        "--train", str(folders[0][0]), "--validation", str(folders[1][0]), "--threads", "1",
        "--output", str(tmp_path / "cli.safetensors"), "--history", str(tmp_path / "cli.csv"),
    ]  # fmt: skip


def test_the_command_line_trains(folders, sets, tmp_path):
    recipe = json.dumps(RECIPE.to_mapping())
    done = subprocess.run(command(folders, tmp_path, recipe), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("cli: accuracy ")
    assert done.stderr.count("\n") == 1  # no progress bar: not a terminal
    checkpoint = load_checkpoint(tmp_path / "cli.safetensors")
    assert Recipe.from_mapping(checkpoint.info.recipe) == RECIPE
    assert checkpoint.info.data["train"] == f"digits-train {sets[0][0].sha256}"
    assert state_digest(checkpoint.state) == state_digest(train("cli", RECIPE, *sets).state)
    with (tmp_path / "cli.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == HISTORY.names
    assert [row["epoch"] for row in rows] == ["1", "2", "3"]


@pytest.mark.parametrize("recipe", ['{"architecture": "cnn"}', "{", "[]"])
def test_the_command_line_reports_errors_in_one_line(folders, tmp_path, recipe):
    done = subprocess.run(command(folders, tmp_path, recipe), capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: cli: ")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
