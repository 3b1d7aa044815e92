"""What jobs of a study ask for on a machine: memory, time, GPUs, and shares of the cores."""

import re
from types import SimpleNamespace

import pytest

from matcheval.study.requests import GPU_RULES, MANY_CORES, Machine, Requests
from studies import configuration, load, rule_bodies

JOB = SimpleNamespace(
    model="resnet-16-mixup", models=("linear-ce", "resnet-16-mixup"), dataset="digits-known",
    pair="new-writers", batch="000",
)  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The digits, with training on a GPU and inference on CPUs."""
    config = configuration("digits") | {"results": str(tmp_path_factory.mktemp("results"))}
    config["training"] |= {"device": "cuda"}
    return load(config)


def test_gpus_of_a_device():
    assert Machine(n_gpus=2).gpus_for("cpu") == 0
    assert Machine().gpus_for("cuda") == 1
    assert Machine().gpus_for("auto") == 0
    assert Machine(n_gpus=2).gpus_for("auto") == 1
    assert Machine(gpu_partition="gpu").gpus_for("auto") == 1  # the login node has none
    assert Machine(n_gpus=2, gpu_partition="").gpus_for("auto") == 0  # only the login node has some


def test_every_gpu_of_a_machine_has_its_share_of_the_cores(study):
    def threads(rule="train_model", **machine):
        return Requests(study, Machine(**machine)).threads(rule)(JOB)

    assert threads(cores=8) == 4
    assert threads(n_gpus=2, cores=5) == 2
    assert threads(n_gpus=8, cores=5) == 1
    assert threads(n_gpus=8, cores=5, is_local=False) == 4
    assert threads("predict_models", n_gpus=2, cores=5) == MANY_CORES


def test_further_attempts_ask_for_up_to_three_times_as_much(study):
    requests = Requests(study, Machine(max_runtime=25))
    given, first = requests.resources("match_predictions"), requests.of("match_predictions", JOB)
    assert [given["mem_mb"](JOB, n) for n in (1, 2, 3, 5)] == [
        first.mem_mb * n for n in (1, 2, 3, 3)
    ]
    assert [given["runtime"](JOB, n) for n in (1, 2, 3)] == [10, 20, 25]


def test_every_rule_asks_in_the_one_place():
    """Downloads run where Snakemake does; targets only collect files."""
    for name, body in rule_bodies():
        if re.search(r"^ *(script|shell):", body, re.M):
            assert "**REQUESTS.resources(" in body, body
            asked = re.findall(r'REQUESTS\.resources\("(\w+)"', body)
            assert asked in ([name], [], ["train_models"], ["predict_models"]), name
            assert ("gpu" in body or "LEASE_GPU" in body) == ((asked or [""])[0] in GPU_RULES), name
