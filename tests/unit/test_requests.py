"""What jobs of a study ask for on a machine: GPUs, their partition, and shares of the cores."""

from types import SimpleNamespace

import pytest

from matcheval.execution import resources
from matcheval.execution.sizes import DIGITS
from matcheval.study.requests import Machine, Requests
from studies import configuration, load

JOB = SimpleNamespace(
    model="resnet-16-mixup", batch="models_1", dataset="digits-known", pair="new-writers"
)


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
    assert threads("predict_datasets", n_gpus=2, cores=5) == resources.MANY_CORES


def test_further_attempts_ask_for_more(study):
    """Up to three times as much; of the time, as much as a job may take."""
    batch = SimpleNamespace(pair="new-writers", batch="000")
    given = Requests(study, Machine(max_runtime=25)).resources("match_predictions")
    request = resources.of_matching(len(study.models), 2 * 10, DIGITS.images)
    attempts = (1, 2, 3, 4, 9)
    assert [given["mem_mb"](batch, n) / request.mem_mb for n in attempts] == [1, 2, 3, 3, 3]
    assert [given["runtime"](batch, n) for n in attempts] == [10, 20, 25, 25, 25]
    unlimited = Requests(study, Machine()).resources("match_predictions")
    assert unlimited["runtime"](batch, 9) == 30
