"""Training: seeds, batches, steps, kept weights, resuming, command line."""

import json
import logging
import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import trainings
from matcheval.datasets.folders import write_dataset
from matcheval.datasets.prepare import build_dataset
from matcheval.errors import InputError, StoppedError
from matcheval.models.checkpoints import load_checkpoint
from matcheval.training import derived_seed
from matcheval.training.algorithm import Optimizer
from matcheval.training.data import draw_batches
from matcheval.training.loop import HISTORY, train, train_to_checkpoint
from matcheval.training.recipe import Recipe
from matcheval.training.settings import Engine
from trainings import a_set, assert_resumes, domains, interrupted, same

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"
RECIPE = trainings.recipe(augmentation="shift", train_fraction=0.2)
ADAM = replace(RECIPE, optimizer="adam", options={"betas": [0.8, 0.9], "eps": 1e-6})
# Of two training sets, in batches of 8, to the best of six epochs of three steps.
BEST = replace(
    ADAM, architecture="linear", width=0, depth=0, augmentation="none", schedule="constant",
    epochs=6, batch_size=8, learning_rate=0.5, train_fraction=1.0, epoch_steps=3, keep="best",
    options={},
)  # fmt: skip
# Everything with state: momentum, average, scaler, random order, augmentation and noise.
FULL = replace(
    RECIPE, architecture="shake_shake", width=4, depth=8, ema_decay=0.9, epochs=4,
    augmentation="basic_cutmix", normalization="channels", precision="fp16",
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


# Seeds, sets and batches


def test_derived_seeds_are_fixed_and_distinct():
    assert derived_seed("a", 1, "order") == 5880750759600307673
    assert len({derived_seed(*p) for p in [("a", 1), ("a1",), ("a", 11), ("a1", 1)]}) == 4


def test_models_seeded_by_one_name_start_alike_and_see_the_same_batches():
    """Without a step of the optimiser's, losses of the first epoch are those of the same draws."""
    recipe = replace(RECIPE, epochs=1, batch_size=8, train_fraction=1.0, learning_rate=1e-12)
    shared = replace(recipe, seeded_by="pair")
    first, *others = (
        train(name, one, *domains()).history[0].train_loss
        for name, one in (
            ("m", shared), ("n", shared), ("pair", recipe),
            ("n", recipe), ("n", replace(recipe, seed=1)),
        )
    )  # fmt: skip
    assert others[:2] == [first, first]
    assert len({first, *others[2:]}) == 3


@given(st.integers(1, 60), st.integers(1, 9), st.integers(1, 20), st.integers(0, 9))
def test_batches_of_an_epoch(n, batch_size, n_batches, seed):
    rows = 3 * np.arange(n)
    drawn = draw_batches(rows, n_batches, batch_size, np.random.default_rng(seed))
    sizes = {len(batch) for batch in drawn}
    assert len(drawn) == n_batches
    assert max(sizes) <= batch_size
    assert max(sizes) - min(sizes) <= 1
    assert all((np.diff(batch) > 0).all() for batch in drawn)
    # Passes one after the other: no image is used a second time before every image is used once.
    one_pass = -(-n // batch_size)
    for start in range(0, n_batches - one_pass + 1, one_pass):
        assert sorted(np.concatenate(drawn[start : start + one_pass])) == rows.tolist()


def test_sets_that_do_not_match_are_rejected_with_the_difference():
    known, validation = domains()
    other = a_set("other", 9, classes=("b", "a", "c"))
    for sets in (([*known, other], validation), (known, other)):
        with pytest.raises(InputError, match=r"m: .*another order: 0 is 'b', not 'a'"):
            train("m", RECIPE, *sets)


def test_long_gradients_are_clipped():
    recipe = replace(RECIPE, clip_norm=0.01, momentum=0, nesterov=False, weight_decay=0)
    model = torch.nn.Linear(4, 3, bias=False)
    before = model.weight.detach().clone()
    Optimizer(model, recipe).step(model(torch.ones(4)).sum(), 1.0)
    norm = (model.weight - before).norm().item()
    assert norm == pytest.approx(0.01 * recipe.learning_rate, rel=1e-3)


# Trainings


def test_the_weights_of_the_best_evaluation_are_kept():
    """A training that ends with the best epoch has the same weights."""
    first, second, *validation = (a_set(f"set-{n}", n, 0, 200) for n in (41, 40, 42, 43))
    run = train("m", BEST, [first, second], validation)
    accuracies = [epoch.validation_accuracy for epoch in run.history]
    best = accuracies.index(max(accuracies))
    assert len(accuracies) - 1 - best > 0  # else the last would do, too
    shorter = replace(BEST, epochs=best + 1, keep="last")
    assert same(run, train("m", shorter, [first, second], validation))
    assert not same(run, train("m", replace(BEST, keep="last"), [first, second], validation))
    each = [train("m", BEST, [first, second], one).history for one in validation]
    for epoch, one, two in zip(run.history, *each, strict=True):  # sets count the same
        mean = (one.validation_accuracy + two.validation_accuracy) / 2
        assert epoch.validation_accuracy == pytest.approx(mean)


class TestResuming:
    @pytest.mark.parametrize("recipe", [FULL, BEST], ids=["everything", "best"])
    def test_gives_the_weights_of_an_uninterrupted_run(self, sets, tmp_path, recipe):
        """To the best weights from before it was killed, if they are kept."""
        given = sets if recipe is not BEST else domains()
        after = recipe.epochs - 2 if recipe is BEST else recipe.epochs // 2
        assert_resumes(recipe, given, tmp_path / "m.partial", after)

    def test_stops_when_it_is_told(self, sets, tmp_path):
        """Not after the last epoch, when it is done."""
        path, told = tmp_path / "m.partial", iter([False, True])
        with pytest.raises(StoppedError, match=r"m: stopped .*; the state after epoch 2 is in"):
            train("m", FULL, *sets, resume_file=path, should_stop=lambda: next(told))
        told = iter([False] * (FULL.epochs - 3))
        resumed = train("m", FULL, *sets, resume_file=path, should_stop=lambda: next(told))
        assert same(resumed, train("m", FULL, *sets))

    @pytest.mark.parametrize(
        ("recipe", "kept", "reason"),
        [
            (replace(RECIPE, learning_rate=0.1), None, "another .*learning_rate 0.05 -> 0.1"),
            (RECIPE, -1, "not readable"),
        ],
    )
    def test_of_another_training_or_a_damaged_file_starts_from_the_beginning(
        self, sets, tmp_path, caplog, recipe, kept, reason
    ):
        path = tmp_path / "m.partial"
        interrupted(RECIPE, sets, path, 1)
        path.write_bytes(path.read_bytes()[:kept])
        with caplog.at_level(logging.WARNING):
            run = train("m", recipe, *sets, resume_file=path)
        assert re.search(reason, caplog.text)
        assert same(run, train("m", recipe, *sets))

    @pytest.mark.slow
    def test_after_sigkill_gives_the_bytes_of_an_uninterrupted_run(self, sets, folders, tmp_path):
        recipe = replace(RECIPE, architecture="resnet", width=8, depth=2, epochs=12)
        text, names = json.dumps(recipe.to_mapping()), ("cli.safetensors", "cli.history.csv")
        given = [*command(folders, tmp_path, text, sys.executable), "--save-minutes", "0"]
        process = subprocess.Popen(given, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 600
        while not (tmp_path / "cli.partial").exists() and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        # One of an earlier checkpoint stays beside it until there is another.
        assert not (tmp_path / names[1]).exists()
        header, *rows = (tmp_path / "cli.partial.csv").read_text().splitlines()
        assert header.replace('"', "").split(",") == HISTORY.names
        assert 1 <= len(rows) < 12  # the history ends with a complete row
        assert not (tmp_path / names[0]).exists()
        resumed = subprocess.run(given, capture_output=True, text=True, check=True)
        assert "starts from the beginning" not in resumed.stderr
        assert "\ncli: accuracy " in f"\n{resumed.stderr}"
        assert resumed.stdout == ""
        assert not list(tmp_path.glob("cli.partial*"))
        whole = tmp_path / "whole"
        train_to_checkpoint("cli", text, *folders, *(whole / name for name in names))
        for name in names:
            assert (whole / name).read_bytes() == (tmp_path / name).read_bytes()
        info = load_checkpoint(tmp_path / names[0]).info
        assert Recipe.from_mapping(info.recipe) == recipe
        assert info.data["train"] == f"digits-train {sets[0][0].sha256}"


# The command line


def command(folders, tmp_path, recipe, python):
    return [
        python, str(SCRIPTS / "job.py"), "train:train_models", "--n-threads", "1",
        "--trainings", json.dumps([["cli", recipe, *([each[0].name] for each in folders)]]),
        "--datasets", str(folders[0][0].parent), "--checkpoints", str(tmp_path),
        "--links", str(tmp_path / "study"),
    ]  # fmt: skip


def test_validation_every_few_epochs_and_at_the_end(sets):
    run = train("m", replace(RECIPE, epochs=5), *sets, engine=Engine(validate_every=2))
    assert [math.isnan(e.validation_loss) for e in run.history] == [True, False, True, False, False]
    assert same(run, train("m", replace(RECIPE, epochs=5), *sets))
