"""Processor seconds of `matched-eval` and of small plans: what a person waits for before any work.

Medians of five, each in a new process, with bytecode and compiled loops cached by a first run that
is not counted; wall seconds beside them. Predictions are simulated: 10,000 and 2,000 datapoints.

python benchmarks/commands.py
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import ROOT, copy_workflow, write_results

REPEATS = 5
SIZES = {"old": 10_000, "new": 2_000}
MODELS = ("a", "b")
PATTERNS = ("old/{model}.csv", "new/{model}.csv")
COMMANDS = {
    "matched-eval --help": ("--help",),
    "a missing file": ("compare", "old/a.csv", "new/none.csv"),
    "a missing column": ("compare", "old/a.csv", "classes.csv"),
    "compare, one model": ("compare", "old/a.csv", "new/a.csv"),
    "compare --output, two models": ("compare", *PATTERNS, "--output", "compared"),
}
STUDIES = ("config.yaml", "studies/digits-shifts.yaml")


def write_predictions(folder: Path) -> None:
    """Write simulated predictions of models on two sets, and a file without probabilities."""
    generator = np.random.default_rng(0)
    for name, n in SIZES.items():
        labels = generator.integers(0, 10, n)
        for model in MODELS:
            scores = 2 * generator.normal(size=(n, 10))
            scores[np.arange(n), labels] += 4
            odds = np.exp(scores)
            columns = labels, scores.argmax(axis=1), odds.max(axis=1) / odds.sum(axis=1)
            file = folder / name / f"{model}.csv"
            file.parent.mkdir(exist_ok=True)
            rows = "".join(f"{a},{b},{c:.6f}\n" for a, b, c in zip(*columns, strict=True))
            file.write_text(f"label,prediction,probability\n{rows}")
    (folder / "classes.csv").write_text("label,prediction\n0,0\n1,1\n")


def time_command(folder: Path, *command: str) -> dict[str, object]:
    """Run a module several times; return medians and the most of its processor seconds."""
    variables = os.environ | {"PYTHONPATH": str(ROOT / "workflow_scripts")}
    # Some machines switch it off, and compile every module in every process.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    variables["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    runs = []
    for _ in range(1 + REPEATS):
        start, before = time.perf_counter(), os.times()
        subprocess.run(
            [sys.executable, "-m", *command], cwd=folder, env=variables, check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        after = os.times()
        spent = after.children_user - before.children_user
        spent += after.children_system - before.children_system
        runs.append((spent, time.perf_counter() - start))
    cpu, wall = zip(*runs[1:], strict=True)
    return {
        "cpu_s": round(statistics.median(cpu), 2), "most_cpu_s": round(max(cpu), 2),
        "wall_s": round(statistics.median(wall), 2), "repeats": REPEATS,
    }  # fmt: skip


def main() -> None:
    """Time all commands."""
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_predictions(folder)
        copy_workflow(folder)
        for name, arguments in COMMANDS.items():
            rows.append({"command": name, **time_command(folder, "matcheval.cli", *arguments)})
        for study in STUDIES:
            plan = ("snakemake", "-n", "--profile", "profiles/laptop", "--configfile", study)
            rows.append({"command": f"snakemake -n, {study}", **time_command(folder, *plan)})
    write_results("commands", rows, "numpy", "pandas", "numba", "matplotlib", "snakemake")


if __name__ == "__main__":
    main()
