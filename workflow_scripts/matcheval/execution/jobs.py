"""What a run tells its jobs: arguments, environment, time limit, and which study and code it is of.

A job on another machine reads the study again, and every job reads the library. If one of them was
edited meanwhile, tables would be of two states, recorded as one; such a job refuses.
"""

import base64
import hashlib
import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from matcheval.errors import InputError
from matcheval.io.provenance import library_digest

# Linux takes 131,072 bytes as one argument, and a whole shell command is one.
_LONG = 60_000


def pack_argument(job: Any) -> str:
    """Return an argument for a job: JSON, compressed where it would be too long."""
    text = json.dumps(job, sort_keys=True)
    if len(text) < _LONG:
        return text
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpacked(text: str) -> Any:
    """Return what an argument describes."""
    return json.loads(text if text[:1] in "{[" else zlib.decompress(base64.b64decode(text)))


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
    """Return what says whether a job that began at `start` (`time.monotonic`) is to stop."""
    if minutes < SHORT_MINUTES:
        return lambda: False
    end = start + 60 * (minutes - MARGIN_MINUTES)
    return lambda: time.monotonic() >= end


# --- that all jobs are of the study and of the code that the run began with

# Environment variable with the digests of the run, by what they are of.
RUN = "MATCHEVAL_RUN"
_LIBRARY = "library"
# Of files that a study names, those that say what to do; others hold data, and have digests.
_READ_WITH_THE_STUDY = (".py", ".yaml", ".yml")
_TABLES = ("models", "manifest")  # keys of tables that do so


def begin_run(configuration: Mapping[str, Any]) -> None:
    """Leave the digests of a study and of the library to the jobs that this process starts."""
    digests = {**_digests_of(configuration), _LIBRARY: library_digest()}
    os.environ[RUN] = json.dumps(_digests_of_run() | digests)


def check_same_study(configuration: Mapping[str, Any], studies: Sequence[object]) -> None:
    """Refuse, in a job, a study, of some files, that is not as it was when the run began."""
    begun = _digests_of_run()
    for name, digest in _digests_of(configuration).items():
        if begun.get(name, digest) != digest:
            raise _edited(name if Path(name).is_file() else " or ".join(map(str, studies)))


def check_same_library() -> None:
    """Refuse, in a job, another library than the run began with."""
    begun = _digests_of_run().get(_LIBRARY)
    if begun and begun != library_digest():
        raise _edited(Path(__file__).parents[1])


def _digests_of_run() -> dict[str, str]:
    return json.loads(os.environ.get(RUN, "{}"))


def _edited(file: object) -> InputError:
    problem = "was edited since this run began, and results of both states would be mixed"
    return InputError(problem, file=file, remedy="Run the same command again")


def _digests_of(configuration: Mapping[str, Any]) -> dict[str, str]:
    """SHA-256 of a configuration, by its study's name and folder, and of files by their paths."""
    results = str(configuration.get("results", "results"))
    files = {Path(text) for text in _files_in(configuration) if not text.startswith(f"{results}/")}
    contents = {str(file): file.read_bytes() for file in files if file.is_file()}
    study = f"study {configuration.get('study')} in {results}"
    plain = json.loads(json.dumps(configuration, default=str))  # keys may be numbers
    contents[study] = json.dumps(plain, sort_keys=True).encode()
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def _files_in(value: Any, key: object = "") -> Iterator[str]:
    """Yield the names of files that are read with the study."""
    if isinstance(value, str):
        if value.endswith(_READ_WITH_THE_STUDY) or key in _TABLES:
            yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _files_in(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from _files_in(part)
