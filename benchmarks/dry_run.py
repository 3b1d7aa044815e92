"""`snakemake -n` of the digits and of the paper's two studies, here and with profiles/slurm.

Seconds and memory of the whole process, with everything to do.

python benchmarks/dry_run.py
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import copy_workflow, write_results

REPEATS = 5
STUDIES = ("config.yaml", "studies/cifar10.yaml", "studies/imagenet.yaml")
PROFILES = ("laptop", "slurm")


def dry_run(
    folder: Path, study: str, profile: str, target: str = "all"
) -> tuple[float, float, int]:
    """Seconds, most memory in MiB, and number of jobs of a dry run."""
    output = folder / "output.txt"
    start = time.perf_counter()
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "snakemake", target, "-n", "--quiet", "rules",
                "--profile", f"profiles/{profile}", "--configfile", study,
            ],
            cwd=folder, stdout=stream, stderr=stream,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    text = output.read_text()
    if status:
        raise SystemExit(text)
    jobs = re.search(r"^total +([\d,]+)", text, re.MULTILINE)
    assert jobs is not None, text
    return seconds, usage.ru_maxrss / 1024, int(jobs[1].replace(",", ""))


def main() -> None:
    """Time dry runs on a fresh copy."""
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copy_workflow(folder)
        for study in STUDIES:
            for profile in PROFILES:
                runs = [dry_run(folder, study, profile) for _ in range(REPEATS)]
                seconds = [run[0] for run in runs]
                rows.append(
                    {
                        "study": study,
                        "profile": profile,
                        "jobs": runs[0][2],
                        "median_seconds": round(statistics.median(seconds), 2),
                        "least": round(min(seconds), 2),
                        "most": round(max(seconds), 2),
                        "peak_mib": round(max(run[1] for run in runs)),
                        "repeats": REPEATS,
                    }
                )
    write_results("dry_run", rows, "snakemake")


if __name__ == "__main__":
    main()
