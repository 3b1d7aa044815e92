"""The digits study through profiles/laptop, then through profiles/slurm on the tests' cluster.

On the same cores (root, Debian's packages); compares the results byte for byte.

python benchmarks/slurm_digits.py
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from common import ROOT, copy_workflow, write_results

sys.path.insert(0, str(ROOT / "tests" / "cluster"))
sys.path.insert(0, str(ROOT / "tests" / "workflow"))

from engine import Workflow
from slurm import Cluster, why_not


def timed(folder: Path, profile: str, environment: Mapping[str, str]) -> dict[str, object]:
    """Run the study in a fresh copy; seconds, submissions, and the load before."""
    folder.mkdir()
    copy_workflow(folder)
    load, start = os.getloadavg()[0], time.perf_counter()
    result = subprocess.run(
        [sys.executable, "-m", "snakemake", "--profile", f"profiles/{profile}"],
        cwd=folder, env=dict(environment), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if result.returncode:
        raise SystemExit(result.stderr)
    return {
        "profile": profile,
        "seconds": round(time.perf_counter() - start, 1),
        "submissions": result.stderr.count("has been submitted with SLURM jobid"),
        "load_before": round(load, 1),
    }


def main() -> None:
    """Run it both ways, one after the other."""
    if reason := why_not():
        raise SystemExit(f"error: {reason}")
    with tempfile.TemporaryDirectory() as temporary:
        laptop, slurm = Path(temporary) / "laptop", Path(temporary) / "slurm"
        rows = [timed(laptop, "laptop", os.environ)]
        with Cluster.started() as cluster:
            rows.append(timed(slurm, "slurm", cluster.environment))
        same = Workflow(laptop).artifacts() == Workflow(slurm).artifacts()
    for row in rows:
        row["same_bytes"] = "yes" if same else "no"
    write_results("slurm_digits", rows, "snakemake", "snakemake-executor-plugin-slurm")


if __name__ == "__main__":
    main()
