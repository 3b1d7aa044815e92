"""What runs on GPUs only, on the CPU under the name of one; and `matched-eval doctor --gpu`."""

import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fake_cuda import FakeCuda
from helpers import told_json
from matcheval import gpu_checks, health
from matcheval.cli.main import main
from matcheval.errors import InputError
from matcheval.inference.forward import ForwardModel, resolved, run_inference
from matcheval.inference.outputs import Writer
from matcheval.inference.readers import ArrayReader
from matcheval.inference.settings import InferenceConfig
from matcheval.models.building import build_model
from matcheval.models.devices import resolve_device
from matcheval.models.transforms import Transform
from matcheval.training.loop import train
from matcheval.training.settings import Engine
from trainings import a_set, recipe, same


@pytest.fixture
def cuda(monkeypatch):
    """A GPU that is none."""
    fake = FakeCuda()
    fake.install(monkeypatch)
    with fake:
        yield fake


class Kept(Writer):
    needs_features = True

    def __init__(self):
        self.logits, self.features = [], []

    def update(self, batch):
        self.logits.append(batch.logits)
        self.features.append(batch.features)


def run(device, **settings):
    """Logits and features of 30 colour images, and the model that they went through."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (30, 8, 8, 3)).astype(np.uint8)
    dataset = a_set("colours", 30, images=images)
    config = resolved(InferenceConfig(device, **{"batch_size": 7, **settings}))
    torch.manual_seed(0)
    network = build_model("cnn", width=4, depth=2, input_shape=(8, 8, 3), n_classes=3)
    model, kept = ForwardModel("m", network, Transform.plain(), config), Kept()
    run_inference([(model, [kept])], ArrayReader(dataset), dataset, config)
    return np.concatenate(kept.logits), np.concatenate(kept.features), model


def test_results_are_read_only_when_the_gpu_has_copied_them(cuda):
    """Five batches in three buffers of pinned memory, which copies may still use."""
    found, expected = run("cuda"), run("cpu")
    for one, other in zip(found[:2], expected[:2], strict=True):
        assert np.allclose(one, other, atol=1e-6)
    assert cuda.layouts == {True, False}  # channels-last for images of 8 pixels: on a GPU only


def test_a_gpu_out_of_memory_goes_on_with_smaller_batches(cuda):
    expected = run("cuda")[0]
    cuda.limit = 4 * 3 * 8 * 8 * 4  # bytes of four images
    found, _, model = run("cuda", batch_size=16)
    assert np.allclose(found, expected, atol=1e-6)
    assert (model.batch_size, cuda.emptied) == (4, 2)


@pytest.mark.parametrize(
    ("capability", "precision", "is_there"),
    [
        ((7, 5), "tf32", False), ((7, 5), "bf16", False), ((7, 5), "fp16", True),
        ((8, 0), "tf32", True), ((9, 0), "bf16", True),
    ],
)  # fmt: skip
def test_precisions_that_a_gpu_lacks_are_refused_before_it_fails(
    cuda, capability, precision, is_there
):
    """Turing's bf16 is emulated, and convolutions in it fail."""
    cuda.capability = capability
    if is_there:
        assert np.allclose(run("cuda", precision=precision)[0], run("cpu")[0], atol=0.1)
        return
    with pytest.raises(InputError, match=f"this cuda device does not support {precision}"):
        run("cuda", precision=precision)
    if precision == "bf16":
        sets = [a_set("one", 30)], a_set("val", 9)
        with pytest.raises(InputError, match="m: 'precision': this cuda device does not support"):
            train("m", recipe(precision="bf16"), *sets, engine=Engine("cuda"))


@pytest.mark.parametrize("deterministic", [True, False])
def test_a_training_on_a_gpu(cuda, deterministic):
    sets = [a_set("one", 40)], a_set("val", 9)
    seen = []

    def note(_):
        backend = torch.backends.cudnn
        seen.append((backend.deterministic, backend.benchmark))

    engine = Engine("cuda", deterministic=deterministic)
    found = train("m", recipe(), *sets, engine=engine, on_epoch=note)
    assert seen == [(deterministic, not deterministic)] * 2
    assert same(found, train("m", recipe(), *sets))


BUSY = "CUDA error: CUDA-capable device(s) is/are busy or unavailable\nSearch for it"


def fail(*_, **__):
    raise torch.AcceleratorError(BUSY)


def test_a_gpu_that_another_process_holds(cuda, monkeypatch):
    """In the compute mode `Exclusive_Process`; or with all of its memory taken."""
    assert resolve_device("auto") == resolve_device("cuda") == torch.device("cuda")
    monkeypatch.setattr(torch, "ones", fail)
    expected = "'device': the GPU cannot be used: .* busy or unavailable. Another process may"
    for name in ("cuda", "auto"):
        with pytest.raises(InputError, match=expected):
            resolve_device(name)
    state, found, remedy = health._gpus(torch, {"PATH": ""})
    assert (state, "busy or unavailable" in found) == (health.PROBLEM, True)
    assert "Another process holds it" in remedy


def test_doctor_computes_something_on_each_gpu(cuda):
    assert health._gpus(torch, {"PATH": ""}) == (health.OK, "Fake (1 GiB); driver unknown", "")


class TestDoctor:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch, tmp_path):
        sizes = {"IMAGES": 40, "SIDE": 8, "FAST_IMAGES": 20, "FAST_SIDE": 32}
        for name, value in sizes.items():
            monkeypatch.setattr(gpu_checks, name, value)
        monkeypatch.chdir(tmp_path)

    @pytest.mark.slow
    def test_all_checks(self, cuda, capsys):
        main(["doctor", "--gpu", "--file", "sent.json"])
        lines = capsys.readouterr().out.splitlines()
        assert lines[-1] == "all checks passed: sent.json"
        told = json.loads(Path("sent.json").read_text())
        done = {one["check"]: one["numbers"] for one in told["gpus"][0]}
        assert list(done) == list(gpu_checks.CHECKS)
        assert [line.split()[:3] for line in lines[:-2]] == [["ok", "GPU", "0,"]] * len(done)
        assert told["works"]
        difference = "largest difference of probabilities"
        assert done["inference in fp32"][difference] <= 1e-5
        assert 0 < done["inference in bf16"][difference] < 0.1
        assert done["training in fp32"]["loss"] == pytest.approx(
            done["training in fp32"]["loss on the CPU in fp32"]
        )
        assert done["training in fp16"]["loss"] != done["training in fp32"]["loss"]
        for precision in ("fp32", "fp16"):
            assert done[f"training resumed in {precision}"]["tensors that differ"] == 0
            assert done[f"training resumed in {precision}"]["epochs after the stop"] == 2
        assert done["memory"]["GiB left"] == done["memory"]["GiB needed"] / 2
        assert done["memory"]["batch halved to"] < done["memory"]["batch"]
        assert "batches of 160 images. Use a smaller batch_size" in done["memory"]["training"]
        assert done["speed"]["images/s in bf16"] > 0
        assert cuda.compiled == 2

    def test_images_per_second(self, cuda, monkeypatch):
        monkeypatch.setattr(gpu_checks.time, "perf_counter", itertools.count(1, 4).__next__)
        model = SimpleNamespace(batch_size=None)
        monkeypatch.setattr(gpu_checks, "_run", lambda *_, **options: (np.zeros(1), model))
        monkeypatch.setattr(gpu_checks, "_compare", lambda *_: None)
        numbers = {}
        gpu_checks.CHECKS["speed"](numbers)
        assert numbers["images/s in fp32"] == gpu_checks.FAST_IMAGES / 4
        assert numbers["batch halved in fp32"] is False

    @pytest.mark.slow
    def test_failed_checks_are_told_and_the_others_run(self, cuda, capsys, monkeypatch):
        """A GPU that is busy, one that computes something else, a training that begins anew."""
        kept = ("device", "inference in fp32", "training resumed in fp32", "training in fp32")
        checks = {name: gpu_checks.CHECKS[name] for name in kept}
        monkeypatch.setattr(gpu_checks, "CHECKS", checks)
        monkeypatch.setattr(torch.cuda, "mem_get_info", fail)
        monkeypatch.setattr("matcheval.training.loop.load_resume_state", lambda *_: None)
        softmax = gpu_checks.softmax
        monkeypatch.setattr(gpu_checks, "softmax", lambda x: softmax(x + len(cuda.layouts) * x))
        with pytest.raises(SystemExit) as ended:
            main(["doctor", "--gpu", "--json"])
        assert ended.value.code == 1
        told = told_json(capsys.readouterr().out)
        assert told["written"] == ["gpu-checks.json"]
        problems = [one["problem"] for one in told["gpus"][0]]
        assert problems[0] == BUSY.splitlines()[0]
        assert "other results than in fp32 on the CPU" in problems[1]
        assert problems[2:] == ["the training began anew", ""]
        assert "load_resume_state" not in told["gpus"][0][0]["traceback"]
        assert "mem_get_info" in told["gpus"][0][0]["traceback"]

    def test_no_check_begins_when_the_time_is_over(self, cuda, monkeypatch, tmp_path):
        monkeypatch.setattr(gpu_checks, "SECONDS", -1)
        report = gpu_checks.check_gpus(tmp_path / "sent.json", lambda line: None)
        assert {one["problem"][:7] for one in report["gpus"][0]} == {"not run"}

    def test_without_a_gpu(self, capsys, monkeypatch, tmp_path):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        program = tmp_path / "nvidia-smi"
        program.write_text("#!/bin/sh\necho NVIDIA-SMI has failed; exit 9\n")
        program.chmod(0o700)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        with pytest.raises(SystemExit):
            main(["doctor", "--gpu"])
        said = capsys.readouterr().err
        assert said.startswith("error: there is no GPU that torch can use; looked at torch ")
        assert "CUDA_VISIBLE_DEVICES (empty), nvidia-smi (NVIDIA-SMI has failed)" in said
        assert said.count("\n") == 1
        assert not (tmp_path / "gpu-checks.json").exists()
