"""What runs on GPUs only, on the CPU under the name of one; and `matched-eval doctor --gpu`."""

import subprocess
import sys
from xml.etree.ElementTree import parse

import numpy as np
import pytest
import torch

from fake_cuda import FakeCuda
from matcheval import health
from matcheval.errors import InputError
from matcheval.models.devices import resolve_device
from matcheval.models.networks import build_model
from matcheval.training.loop import train
from matcheval.training.settings import Engine
from studies import ROOT
from trainings import Kept, a_set, forward, recipe


@pytest.fixture
def cuda(monkeypatch):
    """A GPU that is none."""
    fake = FakeCuda()
    fake.install(monkeypatch)
    with fake:
        yield fake


def run(device, **settings):
    """Logits and features of 30 colour images, and the model that they went through."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (30, 8, 8, 3)).astype(np.uint8)
    torch.manual_seed(0)
    network = build_model("cnn", width=4, depth=2, input_shape=(8, 8, 3), n_classes=3)
    kept, settings = Kept(needs_features=True), {"batch_size": 7, **settings}
    model = forward(network, a_set("colours", 30, images=images), [kept], device, **settings)
    return kept.all("logits"), kept.all("features"), model


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


def test_precisions_that_a_gpu_lacks_are_refused_before_it_fails(cuda):
    """Turing's bf16 is emulated, and convolutions in it fail."""
    cuda.capability = (8, 0)
    assert np.allclose(run("cuda", precision="tf32")[0], run("cpu")[0], atol=0.1)
    cuda.capability = (7, 5)
    for precision in ("tf32", "bf16"):
        with pytest.raises(InputError, match=f"this cuda device does not support {precision}"):
            run("cuda", precision=precision)
    sets = [a_set("one", 30)], a_set("val", 9)
    with pytest.raises(InputError, match="m: 'precision': this cuda device does not support"):
        train("m", recipe(precision="bf16"), *sets, engine=Engine("cuda"))


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
    state, found, remedy = health._test_gpus(torch, {"PATH": ""})
    assert (state, "busy or unavailable" in found) == (health.PROBLEM, True)
    assert "Another process holds it" in remedy


def test_doctor_compares_each_gpu_with_the_cpu(cuda, monkeypatch):
    (finding,) = health.check_gpus()
    assert (finding.subject, finding.state) == ("GPU 0", health.OK)
    monkeypatch.setattr(health, "_difference_from_cpu", lambda *_: 0.5)
    (finding,) = health.check_gpus()
    assert finding.state == health.PROBLEM
    monkeypatch.setattr(health, "_difference_from_cpu", fail)
    (finding,) = health.check_gpus()
    assert (finding.state, finding.found) == (health.PROBLEM, BUSY.splitlines()[0])


@pytest.mark.slow
def test_the_tests_of_gpus_work_themselves(tmp_path):
    """`make gpu-test`, on the CPU under the name of a GPU; without one, all are skipped."""
    command = [sys.executable, "-m", "pytest", "-q", "tests/gpu", "--junit-xml"]
    file = tmp_path / "gpu.xml"
    done = subprocess.run([*command, file, "--fake-gpu"], cwd=ROOT, capture_output=True, text=True)
    assert " passed" in done.stdout, done.stdout
    assert "failed" not in done.stdout
    properties = {one.get("name"): one.get("value") for one in parse(file).iter("property")}
    assert {"torch", "CUDA", "images_per_s", "GiB_needed"} <= properties.keys()
