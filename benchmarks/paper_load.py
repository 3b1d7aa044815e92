"""The whole paper's matching load through the workflow's own rules.

    python benchmarks/paper_load.py

278 models × 3 CIFAR-10 pairs + 286 models × 1 ImageNet pair, 2 criteria, 10 seeds: 22,400 runs, on
simulated predictions of the true sizes (made first, not timed). Times `snakemake matched` (runs)
and, from the start again, `snakemake tables` (runs, tables, intervals) of both studies, start-ups
included, on 2 cores, and samples the memory of all their processes.

    python benchmarks/paper_load.py 0.1

takes a tenth of the models, and writes no results.
"""

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from common import copy_workflow, write_results

from helpers import simulate
from matcheval.predictions.records import write_predictions

CIFAR_SETS = {"cifar10": 10_000, "cifar10.1": 2_000, "cifar10.2": 10_000, "cinic10": 90_000}
IMAGENET_SETS = {"imagenet": 50_000, "imagenetv2": 10_000}
STUDIES = {
    # name: models, classes, sets, replications of the first set
    "cifar": (278, 10, CIFAR_SETS, ("cifar10.1", "cifar10.2", "cinic10")),
    "imagenet": (286, 1_000, IMAGENET_SETS, ("imagenetv2",)),
}


def make_study(folder: Path, name: str, n_models: int) -> None:
    """Simulated predictions, catalogue and configuration of one study."""
    _, n_classes, sets, replications = STUDIES[name]
    models = [f"model-{i:03d}" for i in range(n_models)]
    for number, (dataset, n) in enumerate(sets.items()):
        label = np.random.default_rng(number).integers(0, n_classes, n)
        for i, model in enumerate(models):
            accuracy = 0.6 + 0.39 * i / n_models - 0.08 * (number > 0)
            predictions = simulate(n, n_classes, 1000 * number + i, accuracy=accuracy, label=label)
            write_predictions(predictions, folder / "simulated" / dataset / f"{model}.parquet")
    rows = "".join(f"{model},predictions\n" for model in models)
    (folder / f"{name}.csv").write_text(f"name,kind\n{rows}")
    original = next(iter(sets))
    lines = [f"study: {name}", f"models: {name}.csv", "datasets:"]
    lines += [
        f"  {d}: {{kind: predictions, files: 'simulated/{d}/{{model}}.parquet'}}" for d in sets
    ]
    lines += ["pairs:"]
    lines += [f"  {r}: {{original: {original}, replication: {r}}}" for r in replications]
    (folder / f"{name}.yaml").write_text("\n".join(lines) + "\n")


def run(folder: Path, name: str, target: str) -> dict[str, float]:
    """Seconds, processor seconds and peak MiB of a target, all processes together."""
    for made in ("results", ".snakemake"):
        shutil.rmtree(folder / made, ignore_errors=True)
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--configfile", f"{name}.yaml",
               "--quiet", "all", "--", target]  # fmt: skip
    start, before, peak = time.perf_counter(), processor_seconds(), 0
    with (folder / f"{name}.log").open("w") as log:
        process = psutil.Popen(command, cwd=folder, stdout=log, stderr=log)
        while process.poll() is None:
            peak = max(peak, memory(process))
            time.sleep(0.1)
    if process.returncode:
        raise RuntimeError((folder / f"{name}.log").read_text())
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_s": round(processor_seconds() - before, 1), "peak_mib": round(peak / 2**20),
    }  # fmt: skip


def processor_seconds() -> float:
    """Processor time of all children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory(process: psutil.Process) -> int:
    """Resident bytes of a process and its children, shared pages counted in each."""
    total = 0
    for each in [process, *process.children(recursive=True)]:
        try:
            total += each.memory_info().rss
        except psutil.NoSuchProcess:
            continue  # ended between the listing and the look
    return total


def main(share: float) -> None:
    """Make the studies, run them, and check that every run is there."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copy_workflow(folder)
        rows = []
        for name, (n_models, _, _, replications) in STUDIES.items():
            n = max(2, round(share * n_models))
            make_study(folder, name, n)
            runs = n * len(replications) * 2 * 10
            for target in ("matched", "tables"):
                rows.append({"target": target, "study": name, "runs": runs})
                rows[-1] |= run(folder, name, target)
                print(rows[-1], flush=True)
                assert_complete(folder, name, runs)
    for target in ("matched", "tables"):
        of_target = [row for row in rows if row["target"] == target]
        total = {key: sum(row[key] for row in of_target) for key in ("runs", "seconds", "cpu_s")}
        peak = max(row["peak_mib"] for row in of_target)
        rows.append({"target": target, "study": "both", **total, "peak_mib": peak})
    if share == 1:
        write_results("paper_load", rows, "snakemake", "numpy", "numba", "pyarrow")


def assert_complete(folder: Path, name: str, runs: int) -> None:
    """Count the runs in the files, so that no time is quoted for work not done."""
    code = (
        "import sys, glob, pyarrow.parquet as pq;"
        "print(sum(pq.read_metadata(p).num_rows for p in glob.glob(sys.argv[1], recursive=True)))"
    )
    pattern = str(folder / "results" / name / "matched" / "**" / "*.parquet")
    found = subprocess.run(
        [sys.executable, "-c", code, pattern], capture_output=True, text=True, check=True
    )
    if int(found.stdout) != runs:
        raise RuntimeError(f"{name}: {found.stdout.strip()} runs on file, not {runs}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if sys.argv[1:] else 1.0)
