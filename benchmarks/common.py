"""What the benchmarks share: the machine's description, and results as CSV."""

import csv
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow_scripts"), str(ROOT / "tests")]

WORKFLOW = ("Snakefile", "config.yaml", "rules", "workflow_scripts", "studies", "envs", "profiles")
RESULTS = Path(__file__).resolve().parent / "results"


def write_results(name: str, rows: Iterable[Mapping[str, object]], *packages: str) -> None:
    """Print rows and write them to `results/<name>.csv`, with machine and versions."""
    from matcheval.io.provenance import software_versions

    versions = " ".join(f"{k} {v}" for k, v in software_versions(*packages).items())
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
    full = [{**row, "machine": machine, "versions": versions} for row in rows]
    for row in full:
        print(", ".join(f"{k} {v}" for k, v in row.items() if k not in ("machine", "versions")))
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(full[0]))
        writer.writeheader()
        writer.writerows(full)


def peak_mib() -> int:
    """Return the most memory this process has held since its program began.

    Not `ru_maxrss`, in which Linux counts what the process that started this one held.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return round(int(status.split("VmHWM:")[1].split()[0]) / 1024)


def processor_seconds(function: Callable[[], object]) -> float:
    """Return the processor time of one call, in which other programs do not count."""
    start = time.process_time()
    function()
    return time.process_time() - start


def copy_workflow(folder: Path) -> None:
    """Copy the workflow's sources into a folder of their own."""
    for part in WORKFLOW:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
        copy(ROOT / part, folder / part)
