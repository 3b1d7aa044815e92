"""Algorithms of domain generalisation: their steps, switches, single sources, options, state."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import trainings
from golden.training import SIZES
from matcheval.errors import InputError
from matcheval.models.networks import as_network, as_trained_network, build_model
from matcheval.training.loop import train
from matcheval.training.options import ALGORITHMS, hyper_parameter_groups
from matcheval.training.settings import Engine
from trainings import a_set, assert_resumes, domains

RECIPE = trainings.recipe(
    architecture="resnet", width=3, schedule="constant", epochs=3, batch_size=8,
    learning_rate=0.01, weight_decay=0.0, normalization="channels", optimizer="adam",
)  # fmt: skip
# Burn-ins that end in the second of three epochs of four steps.
EARLY = {name: {"burn_in_steps": 6} for name in ("vrex", "fishr", "eqrm")}
NAMES = list(ALGORITHMS)
OTHERS = [name for name in NAMES if name != "erm"]


def recipe_of(name, **options):
    return replace(RECIPE, algorithm=name, options=EARLY.get(name, {}) | options)


@pytest.fixture(scope="module")
def sets():
    return domains(side=6, n_bright=17)


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_every_architecture_ends_in_a_head():
    """Its input are the features that algorithms work with."""
    for name, (width, depth, groups, side) in SIZES.items():
        model = build_model(
            name, width=width, depth=depth, groups=groups, input_shape=(side, side, 3), n_classes=5
        ).train()
        network, head = as_trained_network(model, name)
        logits, features = network(torch.rand(3, 3, side, side))
        assert torch.allclose(head(features), logits, atol=1e-6), name
        images = torch.rand(3, 3, side, side)
        logits, features = as_network(model.eval(), features=True, name=name)(images)
        assert torch.allclose(head(features), logits, atol=1e-5), name
        assert features.shape == (3, head.in_features)


def test_groups_of_hyper_parameters():
    for name in NAMES:
        groups = hyper_parameter_groups(name, 3)
        assert len({repr(group) for group in groups}) == (1 if name == "erm" else 3)
        assert groups[0] == {}
        assert hyper_parameter_groups(name, 2) == groups[:2]
        for group in groups:
            _ = recipe_of(name, **group).typed_options
    values = [group["weight"] for group in hyper_parameter_groups("sd", 300)[1:]]
    assert np.quantile(values, [0, 0.5, 1]) == pytest.approx([1e-5, 1e-3, 1e-1], rel=0.5)


def test_sources_that_cannot_be_trained_on_are_named(sets):
    known, validation = sets
    with pytest.raises(InputError, match="'algorithm': rcs needs two training sets"):
        train("m", recipe_of("rcs"), known[:1], validation)
    small = a_set("small", 7, side=6)
    with pytest.raises(InputError, match="'batch_size': is 8, but small has 7 images"):
        train("m", recipe_of("coral"), [known[0], small], validation)


VARIANTS = [("eqrm", "implicit"), ("selfreg", "domainbed_compat"), ("rcs", "fixed_width")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant"), [*((name, None) for name in OTHERS), *VARIANTS])
def test_resuming_gives_the_same_bits(sets, tmp_path, name, variant):
    """Killed in front of the step in which optimisers are replaced, and behind it."""
    options = {"variant": variant} if variant else {}
    recipe = replace(recipe_of(name, **options), ema_decay=0.5)
    for after in (1, 2):
        whole = assert_resumes(recipe, sets, tmp_path / f"{after}.partial", after)
    assert whole.history[-1].train_loss != pytest.approx(whole.history[0].train_loss, rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_mixed_precision(sets, name):
    """Steps in bfloat16 lead close to where steps in float32 do."""
    recipe = replace(recipe_of(name), epochs=1)
    runs = [train("m", replace(recipe, precision=p), *sets) for p in ("fp32", "bf16")]
    losses = [run.history[0].train_loss for run in runs]
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], rel=0.1)


def test_frozen_batch_norm_keeps_its_statistics(sets):
    recipe = replace(recipe_of("coral"), frozen_batch_norm=True)
    frozen, free = (train("m", r, *sets).state for r in (recipe, recipe_of("coral")))
    names = [name for name in frozen if "running" in name]
    assert names
    for name in names:
        assert torch.equal(frozen[name], torch.full_like(frozen[name], float("var" in name)))
        assert not torch.equal(free[name], frozen[name])


def test_divergence_names_the_step_and_the_saved_state(sets, tmp_path):
    """An exploding penalty, in the second epoch."""
    recipe, path = recipe_of("vrex", weight=1e300), tmp_path / "m.partial"
    with pytest.raises(InputError, match=r"epoch 2, step \d of 4.*epoch 1 is in .*m\.partial"):
        train("m", recipe, *sets, engine=Engine(save_minutes=0), resume_file=path)
