"""How a job learns that its time on a cluster is nearly over. Imports nothing large."""

import os
from collections.abc import Callable
from pathlib import Path

# Environment variable with the path of a file, which is there as soon as the job is to stop.
STOP_FILE = "MATCHEVAL_STOP_FILE"


def stop_file(folder: Path, number: str) -> Path:
    """Return the file that tells a job to save its state and stop."""
    return folder.resolve() / ".snakemake" / "stop" / number


def is_to_stop() -> Callable[[], bool]:
    """Return what says whether this process's job is to save its state and stop."""
    place = os.environ.get(STOP_FILE)
    return Path(place).exists if place else lambda: False
