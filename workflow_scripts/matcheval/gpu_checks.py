"""What only a GPU can show: the functions that studies use, run on each GPU and on the CPU."""

import copy
import gc
import json
import os
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.errors import InputError, StoppedError
from matcheval.execution.gpus import DEVICES, VISIBLE, ask_driver, visible_gpus
from matcheval.health import first_line, version_of, versions
from matcheval.inference.forward import ForwardModel, resolved, run_inference
from matcheval.inference.outputs import ForwardBatch, Writer
from matcheval.inference.readers import N_BUFFERS, ArrayReader
from matcheval.inference.settings import InferenceConfig
from matcheval.io.files import atomic_file
from matcheval.models.building import build_model
from matcheval.models.devices import supports
from matcheval.models.transforms import Transform
from matcheval.predictions.softmax import softmax
from matcheval.training.loop import train
from matcheval.training.recipe import Recipe
from matcheval.training.run import Run
from matcheval.training.settings import Engine

Numbers = dict[str, Any]

SECONDS = 280  # no check of a GPU begins later
IMAGES, SIDE = 2048, 32  # of most checks
FAST_IMAGES, FAST_SIDE = 2048, 224  # of the measurement of speed
_COMPARED = 16  # of these, on the CPU too
_GIB = 2**30
_QUERY = (
    "index,uuid,name,driver_version,compute_mode,mig.mode.current,memory.used,memory.total,"
    "utilization.gpu"
)
_WIDTH, _DEPTH = 16, 2
_RECIPE = Recipe(
    architecture="resnet", width=_WIDTH, depth=_DEPTH, loss="cross_entropy", loss_parameter=None,
    augmentation="basic", schedule="cosine", epochs=3, batch_size=64, learning_rate=0.05,
    weight_decay=0.0005, train_fraction=1.0, seed=0, normalization="channels",
)  # fmt: skip


def check_gpus(file: Path, tell: Callable[[str], object]) -> dict[str, Any]:
    """Run all checks on each GPU, and write the file anew after each; `tell` gets a line of it."""
    if not torch.cuda.is_available():
        raise _no_gpu()
    gpus: list[list[dict[str, Any]]] = []
    report = {"works": True, "versions": versions(), **_software(), "gpus": gpus}
    _write(report, file)
    for number in range(torch.cuda.device_count()):
        gpus.append([])
        until = time.monotonic() + SECONDS
        for name, check in CHECKS.items():
            done = _checked(name, check, number, until)
            gpus[-1].append(done)
            report["works"] &= done["ok"]
            tell(f"{'ok' if done['ok'] else 'failed':8}GPU {number}, {_line(done)}")
            _write(report, file)
    return report


def _write(report: Mapping[str, Any], file: Path) -> None:
    with atomic_file(file) as partly:
        partly.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def _no_gpu() -> InputError:
    driver = ask_driver(os.environ, "-L")
    said = "not found or hangs" if driver is None else (driver.stdout + driver.stderr).strip()
    found = {
        f"torch {torch.__version__}": f"built for CUDA {torch.version.cuda}",
        VISIBLE: os.environ.get(VISIBLE, "not set"),
        "nvidia-smi": said or "tells nothing",
        f"{DEVICES}/nvidia*": " ".join(sorted(one.name for one in DEVICES.glob("nvidia*"))),
    }
    looked = ", ".join(f"{what} ({how or 'empty'})" for what, how in found.items())
    remedy = "`matched-eval doctor` says what is missing"
    return InputError(f"there is no GPU that torch can use; looked at {looked}", remedy=remedy)


def _software() -> dict[str, Any]:
    """Describe what else than the packages' versions decides what a GPU does."""
    asked = {
        "nvidia-smi -L": ask_driver(os.environ, "-L"),
        "nvidia-smi --query-gpu": ask_driver(os.environ, f"--query-gpu={_QUERY}", "--format=csv"),
    }
    told = {name: (done.stdout + done.stderr).splitlines() for name, done in asked.items() if done}
    cudnn: Any = torch.backends.cudnn  # not fully typed
    return told | {
        "torch": torch.__version__, "CUDA": torch.version.cuda, "cuDNN": cudnn.version(),
        "architectures of torch": torch.cuda.get_arch_list(), VISIBLE: os.environ.get(VISIBLE),
        "GPUs, of divided ones the parts (MIG-)": visible_gpus(os.environ),
    }  # fmt: skip


def _checked(
    name: str, check: Callable[[Numbers], None], number: int, until: float
) -> dict[str, Any]:
    """Run a check on a GPU; whatever it raises is its result."""
    numbers: Numbers = {}
    problem, trace, start = "", "", time.monotonic()
    try:
        if start > until:
            raise TimeoutError(f"not run: the {SECONDS} seconds for all checks are over")
        with torch.cuda.device(number):
            try:
                check(numbers)
            finally:
                gc.collect()
                torch.cuda.empty_cache()
    except Exception as error:  # CUDA's errors are of many types
        problem, trace = first_line(error), traceback.format_exc()
    return {
        "check": name, "ok": not problem, "seconds": round(time.monotonic() - start, 1),
        "problem": problem, "numbers": numbers, "traceback": trace,
    }  # fmt: skip


def _line(done: dict[str, Any]) -> str:
    numbers = (
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in done["numbers"].items()
    )
    told = "; ".join([*[done["problem"]] * (not done["ok"]), *numbers])
    return f"{done['check']}: {told} ({done['seconds']} s)"


def _device(numbers: Numbers) -> None:
    """Name the GPU and its free memory, which others may have taken."""
    free, total = torch.cuda.mem_get_info()
    properties = torch.cuda.get_device_properties()
    major, minor = torch.cuda.get_device_capability()
    numbers |= {"name": properties.name, "capability": f"{major}.{minor}"}
    numbers |= {"GiB": total / _GIB, "GiB free": free / _GIB}


@cache
def _images(n: int, side: int) -> Dataset:
    """Draw images of ten classes: coloured blocks by class, mixed with random ones."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 10
    blocks = rng.integers(0, 256, (10, 4, 4, 3))[labels] + rng.integers(0, 256, (n, 4, 4, 3))
    pixels = (blocks // 2).astype(np.uint8).repeat(side // 4, axis=1).repeat(side // 4, axis=2)
    classes = tuple("abcdefghij")
    return make_dataset("blocks", pixels, labels, classes=classes, max_value=255, source="random")


def _sets() -> tuple[list[Dataset], Dataset]:
    return [_images(IMAGES, SIDE)], _images(IMAGES // 4, SIDE)


@cache
def _trained() -> Run:
    """Train a network on the CPU, in fp32."""
    engine = Engine("cpu", n_threads=torch.get_num_threads())
    return train("m", _RECIPE, *_sets(), engine=engine)


@cache
def _small() -> tuple[nn.Module, Transform]:
    shape = (SIDE, SIDE, 3)
    network = build_model("resnet", width=_WIDTH, depth=_DEPTH, input_shape=shape, n_classes=10)
    network.load_state_dict(_trained().state)
    return network, Transform.plain(_trained().mean, _trained().std)


@cache
def _large() -> tuple[nn.Module, Transform]:
    """Build timm's ResNet-50, or ours of 18 layers; random weights, batch norm as in training."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if version_of("timm"):
            from timm.models.resnet import resnet50

            network = resnet50(pretrained=False, num_classes=10, zero_init_last=False)
        else:
            shape = (FAST_SIDE, FAST_SIDE, 3)
            network = build_model("resnet_7x7", width=64, depth=18, input_shape=shape, n_classes=10)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1.0
    first = torch.from_numpy(_images(_COMPARED, FAST_SIDE).pixels[:]).permute(0, 3, 1, 2)
    with torch.no_grad():
        network(first / 255)
    return network, Transform.plain()


class _Probabilities(Writer):
    """Keeps the probabilities of all classes."""

    def __init__(self) -> None:
        self.parts: list[npt.NDArray[Any]] = []

    def update(self, batch: ForwardBatch) -> None:
        """Keep those of a batch."""
        self.parts.append(softmax(batch.logits))


def _run(
    built: Callable[[], tuple[nn.Module, Transform]], images: Dataset, device: str, **settings: Any
) -> tuple[npt.NDArray[Any], ForwardModel]:
    """Run a network as a study does; return all probabilities, and the model."""
    threads = torch.get_num_threads()
    config = resolved(InferenceConfig(device, n_threads=threads, **settings))
    model = ForwardModel("network", *copy.deepcopy(built()), config)
    kept = _Probabilities()
    run_inference([(model, [kept])], ArrayReader(images), images, config)
    return np.concatenate(kept.parts), model


@cache
def _on_cpu() -> npt.NDArray[Any]:
    return _run(_small, _images(IMAGES, SIDE), "cpu")[0]


def _compare(
    numbers: Numbers, found: npt.NDArray[Any], expected: npt.NDArray[Any], most: float, least: float
) -> None:
    """Compare probabilities and predictions with those that are right."""
    difference = float(np.abs(found - expected).max())
    agreement = float((found.argmax(axis=1) == expected.argmax(axis=1)).mean())
    numbers |= {"largest difference of probabilities": difference, "same predictions": agreement}
    if not difference <= most or agreement < least:
        allowed = f"a difference of {most:g} and {least:.1%} same predictions are allowed"
        raise ArithmeticError(f"other results than in fp32 on the CPU: {allowed}")


def _inference(numbers: Numbers, most: float, least: float, **settings: Any) -> None:
    if not supports(torch.device("cuda"), settings.get("precision", "fp32")):
        numbers["supported by this GPU"] = False
        return
    # More batches than there are buffers, which transfers and computation take turns in.
    images, size = _images(IMAGES, SIDE), IMAGES // (N_BUFFERS + 1)
    found, _ = _run(_small, images, "cuda", batch_size=size, **settings)
    _compare(numbers, found, _on_cpu(), most, least)


def _speed(numbers: Numbers) -> None:
    """Measure a larger network, and compare its first results with the CPU's."""
    few, many = _images(_COMPARED, FAST_SIDE), _images(FAST_IMAGES, FAST_SIDE)
    numbers["network"] = "timm's resnet50" if version_of("timm") else "resnet_7x7-18"
    for precision in ("fp32", "bf16"):
        if supports(torch.device("cuda"), precision):
            _run(_large, few, "cuda", precision=precision)
            torch.cuda.reset_peak_memory_stats()
            start = time.perf_counter()
            _, model = _run(_large, many, "cuda", precision=precision)
            numbers |= {
                f"images/s in {precision}": len(many) / (time.perf_counter() - start),
                f"peak GiB in {precision}": torch.cuda.max_memory_allocated() / _GIB,
                f"batch halved in {precision}": model.batch_size is not None,
            }
    _compare(numbers, _run(_large, few, "cuda")[0], _run(_large, few, "cpu")[0], 1e-3, 0.9)


def _training(numbers: Numbers, precision: str = "fp32", **engine: bool) -> None:
    """Train, and compare the mean loss of the last epoch with the CPU's in fp32."""
    if not supports(torch.device("cuda"), precision):
        numbers["supported by this GPU"] = False
        return
    recipe, start = replace(_RECIPE, precision=precision), time.perf_counter()
    last = train("m", recipe, *_sets(), engine=Engine("cuda", **engine)).history[-1]
    expected = _trained().history[-1].train_loss
    numbers |= {
        "loss": last.train_loss, "loss on the CPU in fp32": expected,
        "validation accuracy": last.validation_accuracy,
        "images/s": IMAGES * recipe.epochs / (time.perf_counter() - start),
    }  # fmt: skip
    if not abs(last.train_loss - expected) <= 0.1 * expected:
        raise ArithmeticError("the loss differs from the CPU's by more than 10 %")


def _resumed(numbers: Numbers, precision: str) -> None:
    """Train, stop and go on; the weights must be those of a training that was not stopped."""
    recipe, epochs = replace(_RECIPE, precision=precision), []
    run = partial(train, "m", recipe, *_sets(), engine=Engine("cuda"))
    whole = run()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "m.partial"
        with suppress(StoppedError):
            run(resume_file=file, is_to_stop=lambda: True)
        resumed = run(resume_file=file, on_epoch=lambda history: epochs.append(len(history)))
    others = [k for k, v in whole.state.items() if not torch.equal(v, resumed.state[k])]
    numbers |= {"epochs after the stop": len(epochs), "tensors": len(whole.state)}
    numbers["tensors that differ"] = len(others)
    if len(epochs) != _RECIPE.epochs - 1:
        raise RuntimeError("the training began anew")
    if others or resumed.history != whole.history:
        raise ArithmeticError("not the same to the bit as a training that was not stopped")


@contextmanager
def _limited(size: int) -> Iterator[None]:
    """Leave torch only so many bytes of the GPU's memory."""
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties().total_memory
    torch.cuda.set_per_process_memory_fraction(size / total)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def _memory(numbers: Numbers) -> None:
    """Run out of memory: inference goes on with smaller batches, training says what to change."""
    images = _images(4 * IMAGES, SIDE)
    torch.cuda.reset_peak_memory_stats()
    run = partial(_run, _small, images, "cuda", batch_size=len(images))
    expected = run()[0]
    peak = torch.cuda.max_memory_reserved()
    numbers |= {"GiB needed": peak / _GIB, "GiB left": peak / 2 / _GIB, "batch": len(images)}
    with _limited(peak // 2):
        found, model = run()
    numbers["batch halved to"] = model.batch_size
    if model.batch_size is None:
        raise RuntimeError("memory did not run out")
    _compare(numbers, found, expected, 1e-4, 0.999)
    recipe = replace(_RECIPE, batch_size=len(images))
    try:
        with _limited(peak // 4):
            train("m", recipe, [images], _images(IMAGES, SIDE), engine=Engine("cuda"))
    except InputError as error:
        numbers["training"] = str(error)
    else:
        raise RuntimeError("a training beyond the memory was not refused")


_PRECISE = partial(_inference, most=1e-4, least=0.999)
# The bounds of lower precisions are several times what they give on a CPU.
CHECKS: dict[str, Callable[[Numbers], None]] = {
    "device": _device,
    "inference in fp32": _PRECISE,
    "inference in tf32": partial(_inference, most=0.02, least=0.98, precision="tf32"),
    "inference in bf16": partial(_inference, most=0.1, least=0.95, precision="bf16"),
    "inference in fp16": partial(_inference, most=0.02, least=0.98, precision="fp16"),
    "memory": _memory,
    "training in fp32": _training,
    "training in channels_last": partial(_training, channels_last=True),
    "training in bf16": partial(_training, precision="bf16"),
    "training in fp16": partial(_training, precision="fp16"),
    "training without deterministic": partial(_training, deterministic=False),
    "training resumed in fp32": partial(_resumed, precision="fp32"),
    "training resumed in fp16": partial(_resumed, precision="fp16"),
    "speed": _speed,
    "inference compiled": partial(_PRECISE, compile=True),
    "training compiled": partial(_training, compile=True),
}
