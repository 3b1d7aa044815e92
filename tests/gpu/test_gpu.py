"""What only a GPU can show: the functions that studies use, on each GPU and on the CPU."""

import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

import checks
import numpy as np
import pytest
import torch
from checks import COMPARED, RECIPE, images, run, small_network, training_sets

from matcheval.errors import InputError, StoppedError
from matcheval.health import version_of
from matcheval.inference.readers import N_BUFFERS
from matcheval.models.devices import supports
from matcheval.training.loop import train
from matcheval.training.settings import Engine

GIB = 2**30


@pytest.fixture
def note(record_property):
    """Write numbers to the JUnit file: `note(name=value)`."""

    def note(**numbers):
        for name, value in numbers.items():
            record_property(name, value)

    return note


def need(precision):
    if not supports(torch.device("cuda"), precision):
        pytest.skip(f"this GPU does not support {precision}")


def compare(note, probabilities, expected, largest, least_agreement):
    """Compare probabilities and predictions with those of the CPU in fp32."""
    difference = float(np.abs(probabilities - expected).max())
    agreement = float((probabilities.argmax(axis=1) == expected.argmax(axis=1)).mean())
    note(largest_difference_of_probabilities=difference, same_predictions=agreement)
    assert difference <= largest
    assert agreement >= least_agreement


def test_device(note):
    """Name the GPU and its free memory, which others may have taken."""
    free, total = torch.cuda.mem_get_info()
    properties = torch.cuda.get_device_properties()
    note(name=properties.name, capability=torch.cuda.get_device_capability())
    note(GiB=total / GIB, GiB_free=free / GIB)


# The bounds of lower precisions are several times what they give on a CPU.
@pytest.mark.parametrize(
    ("settings", "largest", "least_agreement"),
    [
        ({"precision": "fp32"}, 1e-4, 0.999), ({"precision": "tf32"}, 0.02, 0.98),
        ({"precision": "bf16"}, 0.1, 0.95), ({"precision": "fp16"}, 0.02, 0.98),
        ({"compile": True}, 1e-4, 0.999),
    ],
    ids=["fp32", "tf32", "bf16", "fp16", "compiled"],
)  # fmt: skip
def test_inference(note, settings, largest, least_agreement):
    need(settings.get("precision", "fp32"))
    # More batches than there are buffers, which transfers and computation take turns in.
    size = checks.IMAGES // (N_BUFFERS + 1)
    dataset = images(checks.IMAGES, checks.SIDE)
    probabilities, _ = run(small_network(), dataset, "cuda", batch_size=size, **settings)
    compare(note, probabilities, checks.probabilities_on_cpu(), largest, least_agreement)


@pytest.mark.parametrize(
    ("precision", "engine"),
    [
        ("fp32", {}), ("fp32", {"channels_last": True}), ("bf16", {}), ("fp16", {}),
        ("fp32", {"deterministic": False}), ("fp32", {"compile": True}),
    ],
    ids=["fp32", "channels_last", "bf16", "fp16", "not-deterministic", "compiled"],
)  # fmt: skip
def test_training(note, precision, engine):
    """The mean loss of the last epoch is that of the CPU in fp32, within 10 %."""
    need(precision)
    recipe, start = replace(RECIPE, precision=precision), time.perf_counter()
    last = train("m", recipe, *training_sets(), engine=Engine("cuda", **engine)).history[-1]
    seconds = time.perf_counter() - start
    expected = checks.trained_on_cpu().history[-1].train_loss
    note(loss=last.train_loss, loss_on_the_cpu=expected)
    note(accuracy=last.validation_accuracy, images_per_s=checks.IMAGES * recipe.epochs / seconds)
    assert last.train_loss == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_resumed_training(precision, tmp_path):
    """The weights are those of a training that was not stopped, to the bit."""
    recipe, epochs, file = replace(RECIPE, precision=precision), [], tmp_path / "m.partial"
    run_training = partial(train, "m", recipe, *training_sets(), engine=Engine("cuda"))
    whole = run_training()
    with suppress(StoppedError):
        run_training(resume_file=file, should_stop=lambda: True)
    resumed = run_training(resume_file=file, on_epoch=lambda history: epochs.append(len(history)))
    assert len(epochs) == RECIPE.epochs - 1  # it did not begin anew
    assert not [k for k, v in whole.state.items() if not torch.equal(v, resumed.state[k])]
    assert resumed.history == whole.history


@contextmanager
def limited_to(size):
    """Leave torch only so many bytes of the GPU's memory."""
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties().total_memory
    torch.cuda.set_per_process_memory_fraction(size / total)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def test_lack_of_memory(note):
    """Inference goes on with smaller batches, training says what to change."""
    dataset = images(4 * checks.IMAGES, checks.SIDE)
    torch.cuda.reset_peak_memory_stats()
    run_at_once = partial(run, small_network(), dataset, "cuda", batch_size=len(dataset))
    expected = run_at_once()[0]
    peak = torch.cuda.max_memory_reserved()
    with limited_to(peak // 2):
        probabilities, model = run_at_once()
    note(GiB_needed=peak / GIB, batch=len(dataset), batch_halved_to=model.batch_size)
    assert model.batch_size < len(dataset)
    compare(note, probabilities, expected, 1e-4, 0.999)
    recipe = replace(RECIPE, batch_size=len(dataset))
    validation = images(checks.IMAGES, checks.SIDE)
    with limited_to(peak // 4), pytest.raises(InputError, match="Use a smaller batch_size"):
        train("m", recipe, [dataset], validation, engine=Engine("cuda"))


def test_speed(note):
    """Measure a larger network, and compare its first results with the CPU's."""
    few = images(COMPARED, checks.FAST_SIDE)
    many = images(checks.FAST_IMAGES, checks.FAST_SIDE)
    network = checks.large_network()
    note(network="timm's resnet50" if version_of("timm") else "resnet_7x7-18")
    for precision in ("fp32", "bf16"):
        if supports(torch.device("cuda"), precision):
            run(network, few, "cuda", precision=precision)
            torch.cuda.reset_peak_memory_stats()
            start = time.perf_counter()
            run(network, many, "cuda", precision=precision)
            seconds, peak = time.perf_counter() - start, torch.cuda.max_memory_allocated()
            note(**{f"images_per_s_in_{precision}": len(many) / seconds})
            note(**{f"peak_GiB_in_{precision}": peak / GIB})
    on_gpu, on_cpu = (run(network, few, device)[0] for device in ("cuda", "cpu"))
    compare(note, on_gpu, on_cpu, 1e-3, 0.9)
