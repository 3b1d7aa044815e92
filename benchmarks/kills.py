"""Whole runs that are killed at random times: nothing is lost, and results are the same bytes.

    .venv/bin/python benchmarks/kills.py [--kills 100] [--seed 0]

A study of three models runs undisturbed. Then it runs again, from nothing, and Snakemake and all
its jobs are killed by SIGKILL after a random time, unlocked and started again, until a run ends by
itself; so on, until there were `--kills` kills. After a kill, every file that is complete must be
that of the undisturbed run; after a run that ended, so must be all files, and there are no others.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import ROOT, write_results

sys.path.insert(0, str(ROOT / "tests" / "workflow"))
from engine import Workflow, environment

# Of a file being written, a training that goes on, and its history, which grows with every epoch.
UNFINISHED = (".partial", ".history.csv")


def differences(left: dict[str, bytes], whole: dict[str, bytes]) -> list[str]:
    """Name the complete files that are not those of the undisturbed run."""
    return [
        name
        for name, content in left.items()
        if not any(part in name for part in UNFINISHED) and whole.get(name) != content
    ]


def killed(workflow: Workflow, after: float) -> bool:
    """Start a run and kill it after some seconds; False if it had ended."""
    process = subprocess.Popen(
        workflow.command(), cwd=workflow.folder, env=environment(), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        if process.wait(after):
            raise RuntimeError(f"the run failed with status {process.returncode}")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def main() -> None:
    """Kill runs, and count what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng, kills, ended, wrong = np.random.default_rng(given.seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        undisturbed = Workflow.fresh(Path(temporary, "whole"))
        start = time.monotonic()
        undisturbed.run()
        longest, whole = time.monotonic() - start, undisturbed.artifacts()
        while kills < given.kills:
            workflow = Workflow.fresh(Path(temporary, "killed"))
            while kills < given.kills and killed(workflow, float(rng.uniform(1, longest))):
                kills += 1
                bad = differences(workflow.artifacts(), whole)
                wrong += bool(bad)
                print(f"{kills} kills; differing: {bad}", flush=True)
                workflow.run("--unlock")
            workflow.run()
            ended += 1
            bad = sorted({name for name, _ in whole.items() ^ workflow.artifacts().items()})
            wrong += bool(bad)
            print(f"ended; differing: {bad}", flush=True)
            shutil.rmtree(workflow.folder)
    row = {"seed": given.seed, "kills": kills, "runs that ended": ended, "wrong": wrong}
    write_results("kills", [row], "snakemake")


if __name__ == "__main__":
    main()
