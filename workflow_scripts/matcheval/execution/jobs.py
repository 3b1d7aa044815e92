"""Arguments of a command line that describe a whole job."""

import base64
import json
import os
import sys
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


def set_job_environment() -> None:
    """Have the commands of jobs find this process's Python first, unless they run in conda."""
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    os.environ["PATH"] = os.pathsep.join(filter(None, places))


# Environment variable with the path of a file, which is there as soon as the job is to stop.
STOP_FILE = "MATCHEVAL_STOP_FILE"


def stop_file(folder: Path, number: str) -> Path:
    """Return the file that tells a job to save its state and stop."""
    return folder.resolve() / ".snakemake" / "stop" / number


def is_to_stop() -> Callable[[], bool]:
    """Return what says whether this process's job is to save its state and stop."""
    place = os.environ.get(STOP_FILE)
    return Path(place).exists if place else lambda: False
