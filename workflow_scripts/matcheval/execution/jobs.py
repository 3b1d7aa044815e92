"""What a job is told: its arguments, environment and time limit."""

import argparse
import base64
import json
import os
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Linux takes 131,072 bytes as one argument, and a whole shell command is one.
_LONG = 60_000


def pack_argument(job: Any) -> str:
    """Return an argument for a job: JSON, compressed where it would be too long."""
    text = json.dumps(job, sort_keys=True)
    if len(text) < _LONG:
        return text
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpack_argument(text: str) -> str:
    """Return the JSON of an argument."""
    return text if text[:1] in "{[" else zlib.decompress(base64.b64decode(text)).decode()


def unpacked(text: str) -> Any:
    """Return what an argument describes."""
    return json.loads(unpack_argument(text))


def set_job_environment(scripts: Path) -> None:
    """Have commands of jobs find the scripts, and this process's Python unless they run in conda.

    `PYTHONPATH` does not reach jobs in conda.
    """
    os.environ["MATCHEVAL_JOB"] = str(scripts.resolve() / "job.py")
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    os.environ["PATH"] = os.pathsep.join(filter(None, places))


# A job that another can continue saves its state and stops so long before its time limit; it
# ignores a limit that is short.
MARGIN_MINUTES, SHORT_MINUTES = 5, 15


def is_to_stop(minutes: int, start: float) -> Callable[[], bool]:
    """Return what says whether a job is to save its state and stop.

    Parameters
    ----------
    minutes : int
        Its time limit, or 0.
    start : float
        When it began, by `time.monotonic`.
    """
    if minutes < SHORT_MINUTES:
        return lambda: False
    end = start + 60 * (minutes - MARGIN_MINUTES)
    return lambda: time.monotonic() >= end


def add_time_limit(parser: argparse.ArgumentParser) -> None:
    """Add the option for the time limit of a job, which begins as the option is read."""
    parser.add_argument(
        "--minutes",
        type=lambda text: is_to_stop(int(text), time.monotonic()),
        default=is_to_stop(0, 0),
        dest="is_to_stop",
        help=f"time limit: it saves its state and stops {MARGIN_MINUTES} minutes before; 0: none",
    )
