"""Whether torch works, and which devices it can use."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

from matcheval.execution.gpu_devices import (
    DEVICES,
    VISIBLE,
    find_nvidia_smi,
    run_nvidia_smi,
)
from matcheval.health.findings import NOTE, OK, PROBLEM, Finding
from matcheval.health.versions import version_of

_DRIVER_REMEDY = (
    "Compare the driver's version with what this build of torch needs, and choose another build or "
    "a newer driver: docs/containers.md, 'Which driver torch needs'"
)


def check_torch(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Check torch, the driver and the GPUs."""
    if version_of("torch") is None:
        yield Finding(
            "torch", NOTE, "not installed: models can be neither trained nor run",
            "pip install '.[workflow]' in the repository, or `make demo`; comparing prediction "
            "files needs no torch",
        )  # fmt: skip
        return
    try:
        import torch
    except Exception as error:  # whatever a broken installation raises
        yield Finding(
            "torch", PROBLEM, f"installed, but cannot be imported: {_first_line(error)}",
            "Install it again: pip install --force-reinstall torch",
        )  # fmt: skip
        return
    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPUs only"
    yield Finding("torch", OK, f"{torch.__version__}, built for {build}")
    yield _gpus(torch, environment)


def _gpus(torch: Any, environment: Mapping[str, str]) -> Finding:
    driver = nvidia_driver(environment)
    try:
        names = [_tried(torch, number) for number in range(torch.cuda.device_count())]
    except Exception as error:  # CUDA's errors are of many types
        return Finding("GPU", PROBLEM, f"found, but does not work: {_first_line(error)}",
                       _DRIVER_REMEDY)  # fmt: skip
    if names:
        return Finding("GPU", OK, f"{', '.join(names)}; {driver or 'driver unknown'}")
    if torch.backends.mps.is_available():
        return Finding("GPU", OK, "Apple's, by `device: mps`")
    if environment.get(VISIBLE) == "":
        return Finding("GPU", NOTE, f"hidden: {VISIBLE} is empty", f"unset {VISIBLE}")
    if driver is None and not any(DEVICES.glob("nvidia[0-9]*")):
        return Finding("GPU", OK, "none: models run on CPUs, by `device: cpu` or `auto`")
    if not torch.version.cuda:
        return Finding(
            "GPU", PROBLEM, f"this machine has one ({driver}), but torch is built for CPUs only",
            "Install torch for CUDA: `make clean`, then `make demo` without TORCH_INDEX",
        )  # fmt: skip
    return Finding(
        "GPU", PROBLEM, f"this machine has one ({driver or 'no driver answers'}), but torch cannot "
        f"use it; it is built for CUDA {torch.version.cuda}", _DRIVER_REMEDY,
    )  # fmt: skip


def _tried(torch: Any, number: int) -> str:
    """Compute something on a GPU; return its name and memory."""
    device = torch.device("cuda", number)
    ones = torch.ones(64, 64, device=device)
    if float((ones @ ones).sum()) != 64.0**3:
        raise RuntimeError(f"GPU {number} computes wrong results")
    properties = torch.cuda.get_device_properties(device)
    return f"{properties.name} ({properties.total_memory / 2**30:.0f} GiB)"


def nvidia_driver(environment: Mapping[str, str]) -> str | None:
    """Ask NVIDIA's driver for its version."""
    command = find_nvidia_smi(environment)
    if command is None:
        return None
    try:
        done = run_nvidia_smi(command, "--query-gpu=driver_version", "--format=csv,noheader")
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = done.stdout.split()
    return f"driver {found[0]}" if found and not done.returncode else None


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
