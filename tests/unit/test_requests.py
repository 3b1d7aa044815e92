"""What jobs of a study ask for on a machine: memory, time, GPUs, and shares of the cores."""

import re
from types import SimpleNamespace

import pytest
import torch

from matcheval.models.networks import build_model
from matcheval.study.requests import GPU_RULES, MANY_CORES, Requests
from matcheval.study.work import ImageSet, network_multiply_adds
from studies import configuration, load, rule_bodies

JOB = SimpleNamespace(model="resnet-16-mixup", pair="new-writers", batch="000")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The digits, with training on a GPU and inference on CPUs."""
    config = configuration("digits") | {"results": str(tmp_path_factory.mktemp("results"))}
    config["training"] |= {"device": "cuda"}
    return load(config)


def test_every_gpu_of_a_machine_has_its_share_of_the_cores(study):
    def threads(rule="train_model", **machine):
        return Requests(study, **machine).threads(rule)

    assert threads(cores=8) == 4
    assert threads(n_gpus=2, cores=5) == 2
    assert threads(n_gpus=8, cores=5) == 1
    assert threads(n_gpus=8, cores=5, is_local=False) == 4
    assert threads("predict_models", n_gpus=2, cores=5) == MANY_CORES


def test_memory_by_images_time_by_work_and_both_by_attempt(study, monkeypatch):
    """A training takes seconds on a GPU, and hours on half a millionth of one."""
    asked = Requests(study, max_runtime=600).resources("train_model")
    images = SimpleNamespace(size_mb=400)
    assert [asked["mem_mb"](JOB, images, n) for n in (1, 2, 3, 5)] == [9000, 18000, 27000, 27000]
    assert asked["runtime"](JOB, 1) == 10
    monkeypatch.setattr("matcheval.study.work._GPU_FLOPS", 1e7)
    first, *others = (asked["runtime"](JOB, attempt) for attempt in (1, 2, 3, 9))
    assert 60 < first < 600
    assert others == [min(times * first, 600) for times in (2, 3, 3)]


@pytest.mark.parametrize(
    ("architecture", "width", "depth"),
    [("linear", 0, 0), ("mlp", 64, 3), ("cnn", 16, 2), ("resnet", 16, 2)],
)
def test_multiply_adds_of_networks_that_are_built(architecture, width, depth):
    """Counted where they are made: in layers, by weights and places at which these are used."""
    data, shape = ImageSet(50_000, 32), (32, 32, 3)
    model = build_model(
        architecture, width=width, depth=depth, n_classes=data.classes, input_shape=shape
    ).eval()
    counted = []

    def count(layer, _, output):
        if hasattr(layer, "weight") and layer.weight.dim() > 1:
            counted.append(layer.weight.numel() * output[0].numel() // layer.weight.shape[0])

    for layer in model.modules():
        layer.register_forward_hook(count)
    model(torch.zeros(1, 3, 32, 32))
    assert sum(counted) / 2 <= network_multiply_adds(architecture, width, depth, data)
    assert network_multiply_adds(architecture, width, depth, data) <= 2 * sum(counted)


def test_every_rule_asks_in_the_one_place():
    """Downloads run where Snakemake does; targets only collect files."""
    for name, body in rule_bodies():
        if re.search(r"^ *(script|shell):", body, re.M):
            assert "**REQUESTS.resources(" in body, body
            asked = re.findall(r'REQUESTS\.resources\("(\w+)"', body)
            assert asked in ([name], [], ["train_models"], ["predict_models"]), name
            assert ("resources.gpu" in body) == ((asked or [""])[0] in GPU_RULES), name
