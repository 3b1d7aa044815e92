"""GPUs for tests that need one: each test runs on every GPU that torch can use.

Without one they are skipped; `--fake-gpu` runs them on the CPU under the name of one, with few and
small images, which shows that the tests themselves work.
"""

import gc
import os

import checks
import pytest
import torch

from fake_cuda import FakeCuda
from matcheval.execution.gpus import DEVICES, VISIBLE, run_nvidia_smi
from matcheval.health import versions

_FAKE_SIZES = {"IMAGES": 40, "SIDE": 8, "FAST_IMAGES": 20, "FAST_SIDE": 32}
_ASKED = (
    "index,uuid,name,driver_version,compute_mode,mig.mode.current,memory.used,memory.total,"
    "utilization.gpu"
)


def pytest_addoption(parser):
    parser.addoption("--fake-gpu", action="store_true", help="run on the CPU, with small images")


def pytest_generate_tests(metafunc):
    metafunc.parametrize("gpu", range(max(1, torch.cuda.device_count())), indirect=True)


@pytest.fixture(scope="session")
def _fake(request):
    if not request.config.getoption("--fake-gpu"):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        fake = FakeCuda()
        fake.install(patch)
        for name, size in _FAKE_SIZES.items():
            patch.setattr(checks, name, size)
        with fake:
            yield


@pytest.fixture(scope="session", autouse=True)
def _software(_fake, record_testsuite_property):
    """Write down what decides the results of a GPU besides the code."""
    cudnn = torch.backends.cudnn
    described = {
        **versions(), "torch": torch.__version__, "CUDA": torch.version.cuda,
        "cuDNN": cudnn.version(), "architectures of torch": torch.cuda.get_arch_list(),
        VISIBLE: os.environ.get(VISIBLE),
    }  # fmt: skip
    for question in (("-L",), (f"--query-gpu={_ASKED}", "--format=csv")):
        if answer := run_nvidia_smi(os.environ, *question):
            described[f"nvidia-smi {question[0]}"] = (answer.stdout + answer.stderr).strip()
    for name, value in described.items():
        record_testsuite_property(name, str(value))


@pytest.fixture(autouse=True)
def gpu(request, _fake):
    """Run on one GPU, whose memory is free again afterwards."""
    if not torch.cuda.is_available():
        devices = " ".join(sorted(file.name for file in DEVICES.glob("nvidia*")))
        pytest.skip(
            f"torch {torch.__version__}, built for CUDA {torch.version.cuda}, can use no GPU "
            f"(devices: {devices or 'none'}); `matched-eval doctor` says what is missing"
        )
    with torch.cuda.device(request.param):
        yield request.param
        gc.collect()
        torch.cuda.empty_cache()
