"""The GPUs of this machine and their UUIDs, as its driver tells them. Imports no torch.

A number means another GPU in another process: CUDA counts those that a process may use, fastest
first, `nvidia-smi` counts by bus, and a container may hold nothing but `/dev/nvidia3`. A UUID means
the same GPU, or the same part of one (MIG), everywhere on the machine.
"""

import logging
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

LOGGER = logging.getLogger(__name__)

VISIBLE = "CUDA_VISIBLE_DEVICES"
# Folder of the device files; tests use another one.
DEVICES = Path("/dev")
# Where Windows' subsystem for Linux has `nvidia-smi`, which need not be on PATH.
_WSL = "/usr/lib/wsl/lib"
_SECONDS = 60  # a driver that is not kept loaded takes a while
_GPU = re.compile(r"GPU \d+: .*\(UUID: (GPU-[\w-]+)\)")
_PART = re.compile(r"\s+MIG .*\(UUID: (MIG-[\w/-]+)\)")


@dataclass(frozen=True)
class Gpu:
    """A GPU."""

    uuid: str
    parts: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What programs can use: its parts, or itself."""
        return self.parts or (self.uuid,)


def visible_gpus(environment: Mapping[str, str], devices: Path = DEVICES) -> list[str]:
    """List the GPUs that a process may use."""
    given = environment.get(VISIBLE)
    if given is not None and not _listed(given):
        return []
    known = driver_gpus(environment)
    if known is not None:
        if given is None:
            return [name for gpu in known for name in gpu.names]
        return list(dict.fromkeys(_resolved(_listed(given), known)))
    if given is not None:
        return _listed(given)
    files = [file for file in devices.glob("nvidia*") if re.fullmatch(r"nvidia\d+", file.name)]
    if files:
        LOGGER.warning(
            "the NVIDIA driver cannot be asked (neither nvidia-smi nor nvidia-ml-py works); "
            "GPUs are known by number only, and may be shared with jobs that know them by UUID"
        )
    return [str(number) for number in range(len(files))]  # CUDA counts from 0, not as the files


def driver_gpus(environment: Mapping[str, str]) -> list[Gpu] | None:
    """Ask the driver for all GPUs, by `nvidia-smi` or, where that is missing, nvidia-ml-py."""
    command = find_nvidia_smi(environment)
    if command is None:
        return _gpus_of_nvml()
    try:
        done = run_nvidia_smi(command, "-L")
    except (OSError, subprocess.TimeoutExpired) as error:
        LOGGER.warning("nvidia-smi: %s", error)
        return None
    if done.returncode:
        # Without a GPU, it is an error, too, and no reason for a message.
        if "No devices" not in done.stdout + done.stderr:
            LOGGER.warning("nvidia-smi: %s", " ".join((done.stdout + done.stderr).split()))
        return None
    return parse_list(done.stdout)


def find_nvidia_smi(environment: Mapping[str, str]) -> str | None:
    """Find the driver's command `nvidia-smi`, under Windows' Linux too; None if it is missing."""
    return shutil.which("nvidia-smi", path=f"{environment.get('PATH', '')}:{_WSL}")


def run_nvidia_smi(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `nvidia-smi`."""
    return subprocess.run(
        [command, *arguments], capture_output=True, text=True, timeout=_SECONDS, check=False
    )


def parse_list(text: str) -> list[Gpu]:
    """Read what ``nvidia-smi -L`` prints."""
    gpus: list[Gpu] = []
    for line in text.splitlines():
        if match := _GPU.match(line):
            gpus.append(Gpu(match[1]))
        elif (match := _PART.match(line)) and gpus:
            gpus[-1] = Gpu(gpus[-1].uuid, (*gpus[-1].parts, match[1]))
    return gpus


def _gpus_of_nvml() -> list[Gpu] | None:
    try:
        nvml = import_module("pynvml")
    except ModuleNotFoundError:
        return None
    try:
        nvml.nvmlInit()
        try:
            handles = map(nvml.nvmlDeviceGetHandleByIndex, range(nvml.nvmlDeviceGetCount()))
            return [Gpu(_text(nvml.nvmlDeviceGetUUID(gpu)), _parts(nvml, gpu)) for gpu in handles]
        finally:
            nvml.nvmlShutdown()
    except nvml.NVMLError_LibraryNotFound:
        return None  # no driver
    except nvml.NVMLError as error:
        LOGGER.warning("NVML: %s", error)
        return None


def _parts(nvml: Any, gpu: Any) -> tuple[str, ...]:
    try:
        if nvml.nvmlDeviceGetMigMode(gpu)[0] == 0:
            return ()
    except nvml.NVMLError_NotSupported:
        return ()
    found = []
    for number in range(nvml.nvmlDeviceGetMaxMigDeviceCount(gpu)):
        try:
            part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, number)
        except nvml.NVMLError_NotFound:
            continue  # fewer parts than are possible
        found.append(_text(nvml.nvmlDeviceGetUUID(part)))
    return tuple(found)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _listed(given: str) -> list[str]:
    """Names in CUDA_VISIBLE_DEVICES; as in CUDA, those after -1 are invisible."""
    names = [name.strip() for name in given.split(",") if name.strip()]
    return names[: names.index("-1")] if "-1" in names else names


def _resolved(names: list[str], known: list[Gpu]) -> list[str]:
    """UUIDs of numbers, UUIDs and beginnings of UUIDs; as in CUDA, unknown ones end the list."""
    uuids = [uuid for gpu in known for uuid in (gpu.uuid, *gpu.parts)]
    by_uuid = {gpu.uuid: gpu.names for gpu in known}
    found: list[str] = []
    for name in names:
        if name.isdecimal():
            matching = [gpu.uuid for gpu in known[int(name) : int(name) + 1]]
        else:
            matching = [uuid for uuid in uuids if uuid.startswith(name)]
        if len(matching) != 1:
            LOGGER.warning(
                "%s names '%s', which is not one of the driver's GPUs (%s): it and those after it "
                "are not used", VISIBLE, name, ", ".join(uuids) or "none"
            )  # fmt: skip
            break
        found += by_uuid.get(matching[0], (matching[0],))
    return found
