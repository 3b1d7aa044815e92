"""`snakemake -n` on the digits study: seconds, as a whole process.

python benchmarks/dry_run.py
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import copy_workflow, write_results

REPEATS = 7


def main() -> None:
    """Time dry runs on a fresh copy, with everything to do."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copy_workflow(folder)
        seconds = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            command = [sys.executable, "-m", "snakemake", "-n", "--cores", "2"]
            subprocess.run(command, cwd=folder, check=True, capture_output=True, env=os.environ)
            seconds.append(time.perf_counter() - start)
    row = {
        "median_seconds": round(statistics.median(seconds), 2),
        "least": round(min(seconds), 2),
        "most": round(max(seconds), 2),
        "repeats": REPEATS,
    }
    write_results("dry_run", [row], "snakemake")


if __name__ == "__main__":
    main()
