"""What works on this machine, what does not, and what to do about it."""

import copy
import fcntl
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from packaging.requirements import Requirement

from matcheval import __version__
from matcheval.execution.gpus import DEVICES, VISIBLE, run_nvidia_smi

State = Literal["ok", "note", "problem"]
OK: State = "ok"
NOTE: State = "note"
PROBLEM: State = "problem"

_PACKAGES = ("numpy", "pandas", "pyarrow", "matplotlib", "torch", "timm", "snakemake")
_GB = 10**9
_TOLERANCE = 1e-3  # of results on a GPU, relative to the CPU's
_LITTLE, _TOO_LITTLE = 5 * _GB, _GB // 2
_NO_LOCKS = (
    "Ask for locks (NFS: mount with `lock`), or use another folder; runs at the same time would "
    "write over each other"
)
_MOVE = "Free some space, or name a folder on another disk"
# What parts of the package are for; each is named as pip does.
_EXTRAS = {
    "": "comparing predictions",
    "workflow": "running studies: training, inference, Snakemake",
}
_INSTALL = "pip install '.[workflow]' in the repository, or `make demo`"
_DRIVER_REMEDY = (
    "Compare the driver's version with what this build of torch needs, and choose another build or "
    "a newer driver: docs/cluster.md, 'Which driver torch needs'"
)
_TAKEN_REMEDY = (
    "Another process holds it (`nvidia-smi` shows which, and if the compute mode is exclusive): "
    f"wait, or choose another GPU by {VISIBLE}"
)
_NO_DRIVER_REMEDY = "If this machine has a GPU: load its driver; after an update of it, restart"


@dataclass(frozen=True)
class Finding:
    """The result of one check, and the remedy if something is wrong."""

    subject: str
    state: State
    found: str
    remedy: str = ""


def versions() -> dict[str, str | None]:
    """Return the versions of this library, Python and important packages (None: not installed)."""
    own = {"matched-eval": __version__, "python": platform.python_version()}
    return own | {name: version_of(name) for name in _PACKAGES}


def version_of(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def check_machine(results: Path) -> Iterator[Finding]:
    """Check Python, packages, processors, torch, GPUs, folders and Snakemake."""
    yield Finding("Python", OK, f"{platform.python_version()}, {sys.executable}")
    yield from check_packages()
    # The processors that this process may use.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield Finding("processors", OK, f"{cores} cores, {memory / _GB:.0f} GB of memory")
    yield from check_torch()
    yield from check_folders(results)
    yield check_workflow()


def check_packages() -> Iterator[Finding]:
    """Check that the packages this library requires are installed, part by part."""
    try:
        declared = [Requirement(text) for text in metadata.requires("matched-eval") or []]
    except metadata.PackageNotFoundError:
        message = "this library is used from its folder, and not installed"
        yield Finding("packages", NOTE, message, "pip install -e . in the repository")
        return
    remaining = declared
    for extra, purpose in _EXTRAS.items():
        wanted = [r for r in remaining if not r.marker or r.marker.evaluate({"extra": extra})]
        remaining = [requirement for requirement in remaining if requirement not in wanted]
        yield _check_requirements(extra, purpose, wanted)


def _check_requirements(extra: str, purpose: str, requirements: list[Requirement]) -> Finding:
    installed = {requirement: version_of(requirement.name) for requirement in requirements}
    missing = sorted(r.name for r, version in installed.items() if version is None)
    wrong = [
        f"{requirement.name} {version} (needs {requirement.specifier})"
        for requirement, version in installed.items()
        if version is not None and not requirement.specifier.contains(version, True)
    ]
    name, target = (f"packages [{extra}]", f"'.[{extra}]'") if extra else ("packages", ".")
    if not missing and not wrong:
        return Finding(name, OK, f"all {len(requirements)} are here, for {purpose}")
    what = [f"not installed: {', '.join(missing)}"] if missing else []
    what += [f"other versions than those that it works with: {', '.join(wrong)}"] if wrong else []
    state = NOTE if extra and missing and not wrong else PROBLEM
    remedy = f"pip install {target} in the repository, or `make demo`"
    return Finding(name, state, f"{'; '.join(what)}. They are for {purpose}", remedy)


def check_folders(results: Path) -> Iterator[Finding]:
    """Check that the folders of results and of temporary files can be written, and have space."""
    yield from _check_folder("results", results, f"`results:` in the study file ({_MOVE.lower()})")
    temporary = Path(tempfile.gettempdir())
    yield from _check_folder("temporary files", temporary, "the environment variable TMPDIR")


def _check_folder(subject: str, folder: Path, setting: str) -> Iterator[Finding]:
    """Check writing, file locks and free space of a folder, which `setting` chooses."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    where, other = str(folder.absolute()), f"Name another one: {setting}"
    if not existing.is_dir():
        yield Finding(subject, PROBLEM, f"{existing} is not a folder", other)
        return
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"\0" * 4096)
            file.flush()
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:  # some network file systems offer no locks
                message = f"files in {where} cannot be locked ({error.strerror})"
                yield Finding(subject, PROBLEM, message, _NO_LOCKS)
    except OSError as error:
        yield Finding(subject, PROBLEM, f"{where} cannot be written ({error.strerror})", other)
        return
    free = shutil.disk_usage(existing).free
    state = OK if free >= _LITTLE else NOTE if free >= _TOO_LITTLE else PROBLEM
    message, remedy = f"{where}: can be written, {free / _GB:,.1f} GB free", f"{_MOVE}: {setting}"
    yield Finding(subject, state, message, "" if state == OK else remedy)


def check_torch(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Check that torch can be imported, and that it can use the GPUs."""
    if version_of("torch") is None:
        message = "not installed: models can be neither trained nor run"
        remedy = f"{_INSTALL}; comparing prediction files needs no torch"
        yield Finding("torch", NOTE, message, remedy)
        return
    try:
        import torch
    except Exception as error:  # whatever a broken installation raises
        message = f"installed, but cannot be imported: {first_line(error)}"
        remedy = "Install it again: pip install --force-reinstall torch"
        yield Finding("torch", PROBLEM, message, remedy)
        return
    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPUs only"
    yield Finding("torch", OK, f"{torch.__version__}, built for {build}")
    yield Finding("GPU", *_test_gpus(torch, environment))


def _test_gpus(torch: Any, environment: Mapping[str, str]) -> tuple[State, str, str]:
    """Test all GPUs that torch sees; return their state, a message, and the remedy."""
    driver, fault = nvidia_driver(environment)
    try:
        names = [_test_gpu(torch, number) for number in range(torch.cuda.device_count())]
    except Exception as error:  # CUDA's errors are of many types
        taken = any(words in str(error) for words in ("busy or unavailable", "out of memory"))
        remedy = _TAKEN_REMEDY if taken else _DRIVER_REMEDY
        return PROBLEM, f"found, but does not work: {first_line(error)}", remedy
    if names:
        return OK, f"{', '.join(names)}; {driver or 'driver unknown'}", ""
    if torch.backends.mps.is_available():
        return OK, "Apple's, by `device: mps`", ""
    if environment.get(VISIBLE) == "":
        return NOTE, f"hidden: {VISIBLE} is empty", f"unset {VISIBLE}"
    if driver is None and not any(DEVICES.glob("nvidia[0-9]*")):
        if fault:
            return NOTE, f"none that can be used; nvidia-smi: {fault}", _NO_DRIVER_REMEDY
        return OK, "none: models run on CPUs, by `device: cpu` or `auto`", ""
    message = f"this machine has one ({driver or 'no driver answers'}), but torch"
    if not torch.version.cuda:
        remedy = "Install torch for CUDA: `make clean`, then `make demo` without TORCH_INDEX"
        return PROBLEM, f"{message} is built for CPUs only", remedy
    built = f"it is built for CUDA {torch.version.cuda}"
    return PROBLEM, f"{message} cannot use it; {built}", _DRIVER_REMEDY


def _test_gpu(torch: Any, number: int) -> str:
    """Multiply matrices on a GPU; return its name and memory, or raise an error."""
    device = torch.device("cuda", number)
    ones = torch.ones(64, 64, device=device)
    if float((ones @ ones).sum()) != 64.0**3:
        raise RuntimeError(f"GPU {number} computes wrong results")
    properties = torch.cuda.get_device_properties(device)
    return f"{properties.name} ({properties.total_memory / 2**30:.0f} GiB)"


def nvidia_driver(environment: Mapping[str, str]) -> tuple[str | None, str]:
    """Ask NVIDIA's driver for its version; if it does not tell, return what it says instead."""
    done = run_nvidia_smi(environment, "--query-gpu=driver_version", "--format=csv,noheader")
    if done is None:
        return None, ""
    output = " ".join((done.stdout + done.stderr).split())
    if not done.returncode and (version := re.match(r"[0-9]+(\.[0-9]+)*", output)):
        return f"driver {version[0]}", ""
    return None, "" if "No devices" in output else output or "no output"


def check_gpus() -> Iterator[Finding]:
    """Compare a matrix product and a network's gradients on each GPU with the CPU's."""
    import torch

    if not torch.cuda.is_available():
        yield Finding("CUDA", PROBLEM, "torch can use no GPU", "See what is said of GPUs above")
    for number in range(torch.cuda.device_count()):
        subject = f"GPU {number}"
        try:
            difference = _difference_from_cpu(torch, number)
            free, total = (size / 2**30 for size in torch.cuda.mem_get_info(number))
        except Exception as error:  # CUDA's errors are of many types
            yield Finding(subject, PROBLEM, first_line(error), _DRIVER_REMEDY)
            continue
        state = OK if difference <= _TOLERANCE else PROBLEM
        message = (
            f"{torch.cuda.get_device_name(number)}, {free:.1f} of {total:.1f} GiB free; a matrix "
            f"product and gradients of a network differ from the CPU's by {difference:.1g}"
        )
        yield Finding(subject, state, message, "" if state == OK else _DRIVER_REMEDY)


def _difference_from_cpu(torch: Any, number: int) -> float:
    """Return the largest relative difference between results of a GPU and of the CPU."""
    nn, generator = torch.nn, torch.Generator().manual_seed(0)
    images = torch.randn(16, 3, 32, 32, generator=generator)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10)
        )
        network(images)
    results = []
    with torch.backends.cudnn.flags(allow_tf32=False):
        for device in ("cpu", f"cuda:{number}"):
            copied, inputs = copy.deepcopy(network).to(device), images.to(device)
            labels = torch.arange(16, device=device) % 10
            nn.functional.cross_entropy(copied(inputs), labels).backward()
            rows = inputs.flatten(1)
            results.append([rows @ rows.T, *(weight.grad for weight in copied.parameters())])
    return max(
        float((on_gpu.cpu() - on_cpu).abs().max() / on_cpu.abs().max().clamp(min=1e-3))
        for on_cpu, on_gpu in zip(*results, strict=True)
    )


def first_line(error: Exception) -> str:
    """Return the first line of an error's message (CUDA's have many), or else its type."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def find_snakefile() -> Path | None:
    """Find the Snakefile of the working directory, or else of this library's repository."""
    if Path("Snakefile").is_file() and Path("workflow_scripts/matcheval").is_dir():
        return Path("Snakefile")
    own = Path(__file__).parents[2] / "Snakefile"
    return own if own.is_file() else None


def check_workflow() -> Finding:
    """Check that there is a Snakefile, and that Snakemake is installed."""
    version, rules = version_of("snakemake"), find_snakefile()
    if rules is None:
        message = "no Snakefile: this is not a checkout of the repository; studies cannot be run"
        remedy = "git clone the repository and work in its folder"
        return Finding("workflow", NOTE, message, remedy)
    if version is None:
        message = "Snakemake is not installed: studies cannot be run"
        return Finding("workflow", NOTE, message, _INSTALL)
    return Finding("workflow", OK, f"Snakemake {version}, {rules.absolute()}")
