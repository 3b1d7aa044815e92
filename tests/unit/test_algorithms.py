"""Training on several sets, by named algorithms and optimisers, resumed to the same bits."""

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from matcheval.datasets.dataset import make_dataset
from matcheval.errors import InputError
from matcheval.training import run as run_module
from matcheval.training.algorithm import IMPLEMENTATIONS, Algorithm, Minibatch, Setup, Update
from matcheval.training.data import batches, channel_statistics
from matcheval.training.loop import train
from matcheval.training.optimizers import Optimizer
from matcheval.training.options import ALGORITHMS, OPTIMIZERS, AlgorithmOptions
from matcheval.training.recipe import Recipe
from matcheval.training.risk_algorithms import Erm
from matcheval.training.settings import Engine

RECIPE = Recipe(
    architecture="mlp", width=6, depth=1, loss="cross_entropy", loss_parameter=None,
    augmentation="noise", schedule="cosine", epochs=4, batch_size=8, learning_rate=0.01,
    weight_decay=0.01, train_fraction=1.0, seed=0, normalization="channels",
)  # fmt: skip
ADAM = replace(RECIPE, optimizer="adam", options={"betas": [0.8, 0.9], "eps": 1e-6})


def domain(name, n, low, high):
    rng = np.random.default_rng(n)
    return make_dataset(
        name, rng.integers(low, high, (n, 4, 4, 1)).astype(np.uint8), np.arange(n) % 3,
        classes=("a", "b", "c"), max_value=255, source="",
    )  # fmt: skip


@pytest.fixture
def domains():
    """Two training sets, told apart by their brightness, and a validation set."""
    return [domain("dark", 30, 0, 100), domain("bright", 11, 150, 250)], domain("val", 12, 0, 250)


@given(st.integers(1, 60), st.integers(1, 9), st.integers(1, 20), st.integers(0, 9))
def test_batches_of_an_epoch(n, batch_size, n_batches, seed):
    rows = 3 * np.arange(n)
    drawn = batches(rows, n_batches, batch_size, np.random.default_rng(seed))
    sizes = {len(batch) for batch in drawn}
    assert len(drawn) == n_batches
    assert max(sizes) <= batch_size
    assert max(sizes) - min(sizes) <= 1
    assert all((np.diff(batch) > 0).all() for batch in drawn)
    # Passes one after the other: no image is used a second time before every image is used once.
    one_pass = -(-n // batch_size)
    for start in range(0, n_batches - one_pass + 1, one_pass):
        assert sorted(np.concatenate(drawn[start : start + one_pass])) == rows.tolist()


def test_every_step_takes_a_batch_of_each_set(domains, monkeypatch):
    seen = []

    class Recorded(Erm):
        def step(self, minibatches, factor):
            seen.append(minibatches)
            return super().step(minibatches, factor)

    monkeypatch.setattr(run_module, "build_algorithm", Recorded)
    recipe = replace(RECIPE, epochs=1, augmentation="none")
    run = train("m", recipe, *domains)
    assert len(seen) == 4  # the larger set has 30 images, in batches of at most 8
    pixels = [set(), Counter()]
    for minibatches in seen:
        dark, bright = (
            (255 * (b.images * run.std[0] + run.mean[0])).round().int() for b in minibatches
        )
        assert len(bright) in (5, 6)  # 11 images in two batches, twice
        assert dark.max() < 100
        assert bright.min() >= 150
        pixels[0] |= {tuple(image.flatten().tolist()) for image in dark}
        pixels[1].update(tuple(image.flatten().tolist()) for image in bright)
    assert len(pixels[0]) == 30
    assert set(pixels[1].values()) == {2}


def test_statistics_are_of_all_sets_together(domains):
    values = np.concatenate([each.images.ravel() for each in domains[0]]) / 255
    mean, std = channel_statistics(*domains[0])
    assert (mean, std) == (pytest.approx((values.mean(),)), pytest.approx((values.std(),)))
    assert train("m", replace(RECIPE, epochs=1), *domains).mean == mean


def test_models_seeded_by_one_name_start_alike_and_see_the_same_batches(domains):
    """Without a step of the optimiser's, losses of the first epoch are those of the same draws."""
    recipe = replace(RECIPE, epochs=1, learning_rate=1e-12)
    shared = replace(recipe, seeded_by="pair")
    first, *others = (
        train(name, one, *domains).history[0].train_loss
        for name, one in (("m", shared), ("n", shared), ("pair", recipe), ("n", recipe))
    )
    assert others[:2] == [first, first]
    assert others[2] != first


def test_the_fraction_is_taken_of_every_set(domains):
    run = run_module.Run("m", replace(RECIPE, train_fraction=0.5), domains[0], Engine(), "cpu")
    assert [len(rows) for _, rows in run.domains] == [15, 6]


def test_sets_that_do_not_match_are_named(domains):
    known, validation = domains
    other = replace(known[1], classes=("a", "b", "d"))
    with pytest.raises(
        InputError,
        match="bright compared with dark: .* 'c' is missing; 'd' is",
    ):
        train("m", RECIPE, [known[0], other], validation)


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 3))


def test_erm_takes_the_mean_over_the_joined_batches():
    images, targets = torch.rand(7, 1, 2, 2), torch.eye(3)[torch.arange(7) % 3]
    apart, joined = (Erm(network(), RECIPE, Setup(n, torch.Generator())) for n in (2, 1))
    one = apart.update([Minibatch(images[:5], targets[:5]), Minibatch(images[5:], targets[5:])], 1)
    other = joined.update([Minibatch(images, targets)], 1)
    assert torch.equal(one.loss, other.loss)
    assert torch.equal(one.logits, other.logits)
    assert torch.equal(apart.network[1].weight, joined.network[1].weight)


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_steps_equal_the_papers_formulas(name):
    """Kingma & Ba (2015), algorithm 1; Loshchilov & Hutter (2019), algorithm 2."""
    recipe = replace(ADAM, optimizer=name, weight_decay=0.1)
    module = torch.nn.Linear(2, 1, bias=False)
    weight = module.weight.detach().clone().double()
    optimizer = Optimizer(module, recipe, learning_rate=0.02)
    first = second = torch.zeros_like(weight)
    for step, factor in enumerate((1.0, 0.5, 0.25), start=1):
        optimizer.step((module.weight**3).sum(), factor)
        gradient = 3 * weight**2
        rate = 0.02 * factor
        if name == "adam":
            gradient = gradient + 0.1 * weight
        first, second = 0.8 * first + 0.2 * gradient, 0.9 * second + 0.1 * gradient**2
        size = (first / (1 - 0.8**step)) / ((second / (1 - 0.9**step)).sqrt() + 1e-6)
        if name == "adamw":
            weight = weight - rate * 0.1 * weight
        weight = weight - rate * size
        assert torch.allclose(module.weight.double(), weight, atol=1e-6)


class Tilted(Algorithm):
    """With all kinds of state: weights of the sets, a head, an optimiser that is replaced."""

    def __init__(self, network, recipe, setup):
        super().__init__(network, recipe, setup)
        self.register_buffer("q", torch.ones(setup.n_domains))
        self.register_buffer("n_updates", torch.tensor(0))
        self.head = torch.nn.Linear(3, 3)
        self.optimizers["network"] = Optimizer(network, recipe)
        self.optimizers["head"] = Optimizer(self.head, recipe, learning_rate=0.1)

    def step(self, minibatches, factor):
        if self.n_updates == 6:  # in the second epoch
            self.optimizers["network"] = Optimizer(self.network, self.recipe, learning_rate=0.002)
        self.n_updates += 1
        logits = [self.logits(batch.images) for batch in minibatches]
        risks = torch.stack(
            [self.loss(z, b.targets) for z, b in zip(logits, minibatches, strict=True)]
        )
        self.q *= (self.options.eta * risks.detach()).exp()
        self.q /= self.q.sum()
        drawn = torch.rand(3, generator=self.setup.generator)
        self.optimizers["head"].step(self.head(logits[0].detach() * drawn).square().mean(), factor)
        loss = (self.q * risks).sum() + self.head(torch.cat(logits)).square().mean()
        self.optimizers["network"].step(loss, factor)
        return Update(loss.detach(), torch.cat(logits).detach())


class TiltedOptions(AlgorithmOptions):
    eta: float = 0.1


@pytest.fixture
def tilted(monkeypatch):
    monkeypatch.setitem(IMPLEMENTATIONS, TiltedOptions, Tilted)
    monkeypatch.setitem(ALGORITHMS, "tilted", TiltedOptions)
    return replace(ADAM, algorithm="tilted", options={"eta": 0.5, "betas": [0.5, 0.5]})


class KilledError(Exception):
    pass


def resumed(recipe, domains, path, after):
    """The training in two runs, killed after some epochs."""

    def kill(history):
        if len(history) > after:
            raise KilledError

    with pytest.raises(KilledError):
        train("m", recipe, *domains, engine=Engine(save_minutes=0), resume_file=path, on_epoch=kill)
    epochs = []
    run = train(
        "m", recipe, *domains, resume_file=path, on_epoch=lambda h: epochs.append(len(h))
    )  # fmt: skip
    assert epochs[0] == after + 1
    return run


def assert_same(one, other):
    assert one.history == other.history
    assert all(torch.equal(one.state[name], other.state[name]) for name in one.state)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("ema", [0.0, 0.9])
def test_resuming_gives_the_same_bits(domains, tmp_path, optimizer, ema):
    recipe = replace(RECIPE, optimizer=optimizer, ema_decay=ema, augmentation="mixup")
    whole = train("m", recipe, *domains)
    assert_same(resumed(recipe, domains, tmp_path / "m.partial", 2), whole)


@pytest.mark.parametrize("after", [1, 2])  # before and after the optimiser is replaced
def test_state_of_an_algorithm_is_resumed(domains, tmp_path, tilted, after):
    whole = train("m", tilted, *domains)
    assert_same(resumed(tilted, domains, tmp_path / "m.partial", after), whole)
    other = train("m", replace(tilted, options={"eta": 5.0, "betas": [0.5, 0.5]}), *domains)
    assert other.history != whole.history


def test_options_have_one_meaning():
    """A recipe has one mapping for both, so that no name may be an option of two."""
    kinds = (*ALGORITHMS.values(), *OPTIMIZERS.values())
    fields = {kind: set(kind.model_fields) for kind in kinds}
    for algorithm, optimizer in ((a, o) for a, o in combinations(fields, 2)):
        if issubclass(algorithm, AlgorithmOptions) and not issubclass(optimizer, AlgorithmOptions):
            assert not fields[algorithm] & fields[optimizer]


def test_default_options_are_not_part_of_a_recipe():
    assert not {"algorithm", "optimizer", "options"} & {*RECIPE.to_mapping(), *RECIPE.to_record()}
    assert ADAM.to_record()["options"] == {"betas": [0.8, 0.9], "eps": 1e-6}
    assert Recipe.from_mapping(ADAM.to_mapping()) == ADAM
