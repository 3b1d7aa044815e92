"""Devices that models run on, and out-of-memory errors."""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.utils import deterministic

from matcheval.errors import InputError, unknown_name_error

DEVICES = ("cpu", "cuda", "mps", "auto")

GPU_REMEDY = (
    "Another process may hold it (`nvidia-smi` shows which): wait, or choose another by "
    "CUDA_VISIBLE_DEVICES; or GPU, driver and torch do not go together: `matched-eval doctor`"
)

log = logging.getLogger(__name__)


def resolve_device(name: str) -> torch.device:
    """Return the torch device of a name, or the best one for `auto`; refuse an unusable one."""
    if name not in DEVICES:
        raise unknown_name_error("device", name, DEVICES, field="device")
    available = ["cuda"] * torch.cuda.is_available() + ["mps"] * torch.backends.mps.is_available()
    available.append("cpu")
    if name == "auto":
        name = available[0]
        log.info("device auto: %s", name)
    if name not in available:
        problem = f"this machine has no '{name}' that torch can use"
        raise InputError(problem, field="device", remedy=f"Available: {', '.join(available)}")
    if name == "cuda":
        try:
            torch.ones(1, device=name).item()
        except RuntimeError as error:
            problem = f"the GPU cannot be used: {str(error).splitlines()[0]}"
            raise InputError(problem, field="device", remedy=GPU_REMEDY) from error
    return torch.device(name)


def supports(device: torch.device, precision: str) -> bool:
    """Whether a device computes in a precision."""
    if precision == "tf32":
        return device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
    if precision == "bf16" and device.type == "cuda":
        # Older GPUs emulate it, but for convolutions.
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return True


def check_precision(device: torch.device, precision: str, *, file: object = None) -> None:
    """Raise an error if a device does not compute in a precision."""
    if not supports(device, precision):
        problem = f"this {device.type} device does not support {precision}"
        remedy = "Use fp32; on GPUs, tf32 and bf16 need an NVIDIA GPU from Ampere on"
        raise InputError(problem, file=file, field="precision", remedy=remedy)


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether an error means that a device is out of memory."""
    messages = ("out of memory", "ALLOC_FAILED", "can't allocate memory")
    return isinstance(error, torch.OutOfMemoryError) or any(
        message in str(error) for message in messages
    )


@contextmanager
def full_memory(problem: str, *, file: object, field: object = None, remedy: str) -> Iterator[None]:
    """Turn a device's out-of-memory errors in the block into an `InputError`."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise InputError(problem, file=file, field=field, remedy=remedy) from error


def normalize(images: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Normalise images (n, channels, height, width) by channel, on the device that holds them."""
    if not any(mean) and all(value == 1 for value in std):
        return images
    as_channels = (images.new_tensor(tuple(values))[:, None, None] for values in (mean, std))
    return (images - next(as_channels)) / next(as_channels)


@contextmanager
def arithmetic(n_threads: int, *, deterministic: bool) -> Iterator[None]:
    """Set the number of threads, and cuDNN's choice of (deterministic) algorithms, in the block."""
    if n_threads < 1:
        raise InputError(f"is {n_threads}", field="threads", remedy="Give at least 1")
    threads = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        with torch.backends.cudnn.flags(
            enabled=True, benchmark=not deterministic, deterministic=deterministic, allow_tf32=False
        ):
            yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def repeatable_arithmetic(n_threads: int = 1, *, strict: bool = True) -> Iterator[None]:
    """Make torch's results reproducible to the bit within the block, then restore its settings."""
    # Required for deterministic matrix products on CUDA; read when the first of them runs.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    mode = torch.get_deterministic_debug_mode()
    # Like use_deterministic_algorithms(True), but without importing the compiler (over a second).
    torch.set_deterministic_debug_mode("error" if strict else "warn")
    # Do not fill new tensors with NaN: it takes a tenth of the time, and only helps to find code
    # that reads uninitialised memory.
    filled = deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        with arithmetic(n_threads, deterministic=True):
            yield
    finally:
        deterministic.fill_uninitialized_memory = filled  # type: ignore[attr-defined]
        torch.set_deterministic_debug_mode(mode)
