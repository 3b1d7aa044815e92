"""Run a command, and leave a file once SIGUSR1 says that its time on a cluster is nearly over.

    python run_until_signal.py python -m snakemake ...

A job's command finds the path of the file in its environment (`execution.jobs`).
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from matcheval.execution.jobs import STOP_FILE, stop_file


def main() -> int:
    """Run the command of the arguments, and return its exit code."""
    file = stop_file(Path.cwd(), os.environ["SLURM_JOB_ID"])
    file.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGUSR1, lambda number, frame: file.touch())
    return subprocess.call(sys.argv[1:], env={**os.environ, STOP_FILE: str(file)})


if __name__ == "__main__":
    sys.exit(main())
