"""Run a command on GPUs that are reserved for it: `python -m lease_gpu 1 python -m ...`."""

import sys

from matcheval.execution.entry_points import run_command
from matcheval.execution.gpus import run_with_gpus

if __name__ == "__main__":
    run_command(run_with_gpus, int(sys.argv[1]), sys.argv[2:])
