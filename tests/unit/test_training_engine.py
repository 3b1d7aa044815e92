"""Training: precision, weight averages, memory layouts, resuming, and every family on CIFAR-10."""

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

from cifar import cifar, needs_cifar
from matcheval.datasets.build import build_dataset
from matcheval.datasets.dataset import make_dataset
from matcheval.datasets.folders import write_dataset
from matcheval.errors import InputError, StoppedError
from matcheval.models import FAMILIES
from matcheval.models.checkpoints import load_checkpoint
from matcheval.models.sizes import SPECIFICATIONS
from matcheval.training import run as run_module
from matcheval.training.algorithm import Minibatch, Setup
from matcheval.training.data import ResidentSet, channel_statistics
from matcheval.training.loop import train, train_to_checkpoint
from matcheval.training.recipe import Recipe
from matcheval.training.risk_algorithms import Erm
from matcheval.training.settings import Engine

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"
RECIPE = Recipe(
    architecture="cnn", width=4, depth=1, loss="cross_entropy", loss_parameter=None,
    augmentation="shift", schedule="cosine", epochs=2, batch_size=32, learning_rate=0.05,
    weight_decay=0.0005, train_fraction=0.2, seed=0,
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


def same(one, other):
    return all(torch.equal(one.state[name], other.state[name]) for name in one.state)


def test_normalised_training_keeps_its_statistics(sets):
    scaled = sets[0][0].images[..., 0] / 16
    mean, std = channel_statistics(*sets[0])
    assert mean == pytest.approx((scaled.mean(),), rel=1e-12)
    assert std == pytest.approx((scaled.std(),), rel=1e-12)
    run = train("m", replace(RECIPE, normalization="channels"), *sets)
    assert (run.mean, run.std) == (mean, std)
    assert (train("m", RECIPE, *sets).mean, run.history[0].epoch) == ((0.0,), 1)
    flat = make_dataset(
        "flat", np.full((3, 2, 2, 2), 51, np.uint8), np.zeros(3, int),
        classes=("a", "b"), max_value=255, source="",
    )  # fmt: skip
    assert channel_statistics(flat) == (pytest.approx((0.2, 0.2)), (1.0, 1.0))


@pytest.mark.parametrize("channels_last", [False, True])
def test_resident_batches_equal_the_images(channels_last):
    rng = np.random.default_rng(0)
    dataset = make_dataset(
        "d", rng.integers(0, 256, (7, 4, 5, 3)).astype(np.uint8), np.arange(7) % 3,
        classes=("a", "b", "c"), max_value=255, source="",
    )  # fmt: skip
    resident = ResidentSet.of(dataset, torch.device("cpu"), channels_last=channels_last)
    assert resident.images.dtype == torch.uint8
    for rows in (torch.tensor([5, 0, 3]), slice(2, 6)):
        images, targets = resident.batch(rows)
        where = rows if isinstance(rows, slice) else rows.numpy()
        expected = dataset.images[where].transpose(0, 3, 1, 2).astype(np.float32) / 255
        assert np.array_equal(images.numpy(), expected)
        assert targets.argmax(dim=1).tolist() == dataset.labels[where].tolist()
        assert images.is_contiguous(memory_format=torch.channels_last) == channels_last


def test_steps_equal_an_explicit_implementation():
    """SGD with Nesterov momentum, weight decay on weights only and clipped gradients."""
    recipe = replace(
        RECIPE, architecture="linear", width=0, depth=0, weight_decay=0.1,
        weight_decay_on="weights", momentum=0.8, clip_norm=0.01,
    )  # fmt: skip
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 3))
    algorithm = Erm(model, recipe, Setup(1, torch.Generator()))
    weight, bias = (p.detach().clone() for p in model.parameters())
    images, targets = torch.rand(5, 1, 2, 2), torch.eye(3)[[0, 1, 2, 0, 1]]
    velocity = [torch.zeros_like(weight), torch.zeros_like(bias)]
    for rate in (0.5, 0.25):
        parameters = [weight.requires_grad_(), bias.requires_grad_()]
        logits = images.flatten(1) @ weight.T + bias
        loss = -(targets * logits.log_softmax(dim=1)).sum(dim=1).mean()
        gradients = torch.autograd.grad(loss, parameters)
        norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
        assert norm > 0.01
        gradients = [g * 0.01 / norm for g in gradients]
        gradients[0] = gradients[0] + 0.1 * weight.detach()
        velocity = [0.8 * v + g for v, g in zip(velocity, gradients, strict=True)]
        weight, bias = (
            p.detach() - rate * (g + 0.8 * v)
            for p, g, v in zip(parameters, gradients, velocity, strict=True)
        )
        found, _ = algorithm.update([Minibatch(images, targets)], rate / recipe.learning_rate)
        assert found.item() == pytest.approx(loss.item(), rel=1e-5)
    for ours, theirs in zip((weight, bias), model.parameters(), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)


def test_the_moving_average_is_saved(sets):
    recipe = replace(RECIPE, architecture="resnet", ema_decay=0.5, epochs=1, batch_size=40)
    weights = []

    class Recorded(Erm):
        def step(self, minibatches, factor):
            result = super().step(minibatches, factor)
            weights.append({k: v.clone() for k, v in self.network.state_dict().items()})
            return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "build_algorithm", Recorded)
        run = train("m", recipe, *sets)
    first, second, third = (w["0.weight"] for w in weights)
    expected = 0.5 * (0.5 * first + 0.5 * second) + 0.5 * third
    assert torch.allclose(run.state["0.weight"], expected, atol=1e-6)
    plain = train("m", replace(recipe, ema_decay=0.0), *sets)
    assert torch.equal(plain.state["0.weight"], third)
    assert run.history[0].train_loss == plain.history[0].train_loss
    assert run.history[0].validation_loss != plain.history[0].validation_loss


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_mixed_precision_is_less_exact_and_saves_float32(sets, precision):
    full = train("m", replace(RECIPE, epochs=1), *sets)
    mixed = train("m", replace(RECIPE, epochs=1, precision=precision), *sets)
    assert {value.dtype for value in mixed.state.values()} == {torch.float32}
    assert not same(full, mixed)
    assert mixed.history[0].train_loss == pytest.approx(full.history[0].train_loss, rel=0.02)


def test_channels_last_changes_the_last_bits_at_most(sets):
    # With fewer than 8 channels oneDNN (torch 2.15) writes beyond its buffers on AVX2 processors.
    recipe = replace(RECIPE, architecture="resnet", width=8, depth=2, epochs=1)
    plain, last = (
        train("m", recipe, *sets, engine=Engine(channels_last=layout)) for layout in (False, True)
    )
    for name, value in plain.state.items():
        assert torch.allclose(value, last.state[name], atol=1e-4)
        assert last.state[name].is_contiguous()


def test_validation_every_few_epochs_and_at_the_end(sets):
    run = train("m", replace(RECIPE, epochs=5), *sets, engine=Engine(validate_every=2))
    assert [math.isnan(e.validation_loss) for e in run.history] == [True, False, True, False, False]
    every = train("m", replace(RECIPE, epochs=5), *sets)
    assert same(run, every)


@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without a GPU")
def test_missing_devices_are_rejected(sets):
    with pytest.raises(InputError, match="this machine has no 'cuda'"):
        train("m", RECIPE, *sets, engine=Engine(device="cuda"))


def out_of_memory_on_a_gpu(*_):
    raise torch.OutOfMemoryError("CUDA out of memory.")


def out_of_memory_on_the_cpu(*_):
    torch.empty(1 << 50)


@pytest.mark.parametrize("full", [out_of_memory_on_a_gpu, out_of_memory_on_the_cpu])
def test_out_of_memory_errors_name_the_batch_size(sets, monkeypatch, full):
    monkeypatch.setattr(Erm, "step", full)
    with pytest.raises(InputError, match=r"m: 'batch_size': cpu ran out of memory .* 32 images"):
        train("m", RECIPE, *sets)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (("0", "1", "2", "3", "4", "5", "6", "7", "8", "ten"), "only digits-train has '9'; only"),
        (("1", "0", *"23456789"), "label 0 is '0' in digits-train, '1' in other"),
        (tuple("01234567890")[:9], "only digits-train has '9'"),
    ],
)
def test_differing_label_spaces_are_rejected_with_the_difference(sets, classes, message):
    other = make_dataset(
        "other", np.zeros((4, 8, 8, 1), np.uint8), np.zeros(4, int),
        classes=classes, max_value=16, source="",
    )  # fmt: skip
    with pytest.raises(InputError, match=f"m: 'classes': .*{message}"):
        train("m", RECIPE, sets[0], other)


# Everything with state: momentum, average, scaler, random order, augmentation and noise.
FULL = replace(
    RECIPE, architecture="shake_shake", width=4, depth=8, ema_decay=0.9, epochs=4,
    augmentation="basic_cutmix", normalization="channels", precision="fp16",
)  # fmt: skip


class TestResuming:
    def interrupted(self, sets, path, recipe, after, **identity):
        """Train until some epoch, then raise as if interrupted."""

        def stop(history):
            if len(history) > after:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(
                "m", recipe, *sets, engine=Engine(save_minutes=0), resume_file=path,
                on_epoch=stop, identity=identity,
            )  # fmt: skip

    @pytest.mark.parametrize("recipe", [RECIPE, FULL], ids=["plain", "everything"])
    def test_gives_the_weights_of_an_uninterrupted_run(self, sets, tmp_path, recipe):
        path = tmp_path / "m.partial"
        self.interrupted(sets, path, recipe, recipe.epochs // 2)
        seen = []
        resumed = train(
            "m",
            recipe,
            *sets,
            resume_file=path,
            on_epoch=lambda history: seen.append(len(history)),
        )
        whole = train("m", recipe, *sets)
        assert seen[0] == recipe.epochs // 2 + 1
        assert same(resumed, whole)
        assert resumed.history == whole.history

    def test_stops_when_it_is_told(self, sets, tmp_path):
        """Not after the last epoch, when it is done."""
        path, told = tmp_path / "m.partial", iter([False, True])
        with pytest.raises(StoppedError, match=r"m: stopped .*; the state after epoch 2 is in"):
            train("m", FULL, *sets, resume_file=path, is_to_stop=lambda: next(told))
        told = iter([False] * (FULL.epochs - 3))
        resumed = train("m", FULL, *sets, resume_file=path, is_to_stop=lambda: next(told))
        assert same(resumed, train("m", FULL, *sets))

    @pytest.mark.parametrize(
        ("recipe", "identity", "reason"),
        [
            (replace(RECIPE, learning_rate=0.1), {}, "learning_rate 0.05 -> 0.1"),
            (replace(RECIPE, seed=1), {}, "seed 0 -> 1"),
            (RECIPE, {"versions": {"torch": "other"}}, "versions .* -> "),
        ],
    )
    def test_with_another_identity_starts_from_the_beginning(
        self, sets, tmp_path, caplog, recipe, identity, reason
    ):
        path = tmp_path / "m.partial"
        self.interrupted(sets, path, RECIPE, 1)
        with caplog.at_level(logging.WARNING):
            run = train("m", recipe, *sets, resume_file=path, identity=identity)
        assert "belongs to another training run" in caplog.text
        assert re.search(reason, caplog.text)
        assert same(run, train("m", recipe, *sets))

    @pytest.mark.parametrize("keep", [0, 100, -1])
    def test_with_a_damaged_file_starts_from_the_beginning(self, sets, tmp_path, caplog, keep):
        path = tmp_path / "m.partial"
        self.interrupted(sets, path, RECIPE, 1)
        path.write_bytes(path.read_bytes()[:keep])
        with caplog.at_level(logging.WARNING):
            run = train("m", RECIPE, *sets, resume_file=path)
        assert "not readable" in caplog.text
        assert len(run.history) == 2

    def test_after_sigkill_gives_the_bytes_of_an_uninterrupted_run(self, folders, tmp_path):
        recipe = replace(RECIPE, architecture="resnet", width=8, depth=2, epochs=12)
        names = ("m.safetensors", "m.history.csv")
        command = [
            sys.executable, str(SCRIPTS / "train_model.py"), "--name", "m", "--save-minutes", "0",
            "--recipe", json.dumps(recipe.to_mapping()), "--train", str(folders[0][0]),
            "--validation", str(folders[1][0]), "--output", str(tmp_path / names[0]),
            "--history", str(tmp_path / names[1]),
        ]  # fmt: skip
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 600
        while not (tmp_path / "m.partial").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        rows = len((tmp_path / names[1]).read_text().splitlines()) - 1
        assert 1 <= rows < 12  # the history ends with a complete row
        assert not (tmp_path / names[0]).exists()
        resumed = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "starts from the beginning" not in resumed.stderr
        assert not (tmp_path / "m.partial").exists()
        whole = tmp_path / "whole"
        train_to_checkpoint(
            "m", json.dumps(recipe.to_mapping()), *folders, *(whole / name for name in names)
        )
        for name in names:
            assert (whole / name).read_bytes() == (tmp_path / name).read_bytes()


# Small and narrow members, so that all of them together take seconds.
MEMBERS = {
    "VGG": ("vgg", 16, 11, 1),
    "ResNet": ("resnet_a", 8, 8, 1),
    "DenseNet": ("densenet", 6, 16, 1),
    "ResNeXt": ("resnext", 4, 11, 2),
    "PreActResNet": ("preact", 8, 8, 1),
    "ShakeShake": ("shake_shake", 8, 8, 1),
    "PyramidNet": ("pyramidnet", 12, 8, 1),
    "SENet": ("seresnet_imagenet", 8, 18, 1),
}


@needs_cifar
@pytest.mark.parametrize("family", FAMILIES)
def test_two_epochs_on_cifar_images_lower_the_loss(family, tmp_path):
    architecture, width, depth, groups = MEMBERS[family]
    assert SPECIFICATIONS[architecture].family == family
    recipe = Recipe(
        architecture=architecture, width=width, depth=depth, groups=groups, loss="cross_entropy",
        loss_parameter=None, augmentation="basic", schedule="onecycle", epochs=2, batch_size=32,
        learning_rate=0.02, weight_decay=5e-4, train_fraction=1.0, seed=0,
        normalization="channels",
    )  # fmt: skip
    images, validation = cifar("train", 160), cifar("train", 40, 160)
    for dataset in (images, validation):
        write_dataset(dataset, tmp_path / dataset.name)
    last = train_to_checkpoint(
        family, json.dumps(recipe.to_mapping()), [tmp_path / images.name],
        [tmp_path / validation.name], tmp_path / "m.safetensors", tmp_path / "m.csv",
        engine=Engine(channels_last=True),
    )  # fmt: skip
    first = float((tmp_path / "m.csv").read_text().splitlines()[1].split(",")[2])
    assert last.train_loss < first
    info = load_checkpoint(tmp_path / "m.safetensors").info
    assert info.classes[0] == "airplane"
    assert info.mean == pytest.approx((0.49, 0.48, 0.45), abs=0.02)


def test_cpu_threads_do_not_matter_on_a_gpu():
    """A training can be resumed on a machine with fewer processors."""
    few, many = Engine(device="cuda", n_threads=2), Engine(device="cuda", n_threads=8)
    assert few.identity("cuda") == many.identity("cuda")
    assert few.identity("cpu") != many.identity("cpu")
