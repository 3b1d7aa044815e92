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


def pack_argument(value: Any) -> str:
    """Encode a job's argument as text for a command line: JSON, compressed if it is long."""
    text = json.dumps(value, sort_keys=True)
    if len(text) < _LONG:
        return text
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpack_argument(text: str) -> Any:
    """Decode a job's argument that `pack_argument` encoded."""
    return json.loads(text if text[:1] in "{[" else zlib.decompress(base64.b64decode(text)))


def set_job_environment(scripts: Path) -> None:
    """Set the environment variables by which jobs find `job.py` and this process's Python.

    Jobs in conda use conda's Python; `PYTHONPATH` does not reach them.
    """
    os.environ["MATCHEVAL_JOB"] = str(scripts.resolve() / "job.py")
    folders = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    os.environ["PATH"] = os.pathsep.join(filter(None, folders))


# A job that another can continue saves its state and stops so long before its time limit; it
# ignores a limit that is short.
MARGIN_MINUTES, SHORT_MINUTES = 5, 15


def stop_condition(minutes: int, start: float) -> Callable[[], bool]:
    """Return a function that tells whether a job must stop soon; never if its limit is short.

    The job began at `start` by `time.monotonic`, and its limit is in minutes.
    """
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
    """Record digests of a study and of the library in the environment, for jobs to compare."""
    digests = {**_compute_digests(configuration), _LIBRARY: library_digest()}
    os.environ[RUN] = json.dumps(_recorded_digests() | digests)


def check_same_study(configuration: Mapping[str, Any], studies: Sequence[object]) -> None:
    """Refuse, in a job, a study that was edited since the run began; `studies` are its files."""
    begun = _recorded_digests()
    for name, digest in _compute_digests(configuration).items():
        if begun.get(name, digest) != digest:
            raise _edited_error(name if Path(name).is_file() else " or ".join(map(str, studies)))


def check_same_library() -> None:
    """Refuse, in a job, a library that was edited since the run began."""
    begun = _recorded_digests().get(_LIBRARY)
    if begun and begun != library_digest():
        raise _edited_error(Path(__file__).parents[1])


def _recorded_digests() -> dict[str, str]:
    """Return the digests that `begin_run` recorded; none outside a run."""
    return json.loads(os.environ.get(RUN, "{}"))


def _edited_error(file: object) -> InputError:
    problem = "was edited since this run began, and results of both states would be mixed"
    return InputError(problem, file=file, remedy="Run the same command again")


def _compute_digests(configuration: Mapping[str, Any]) -> dict[str, str]:
    """Return the SHA-256 of a configuration, by study, and of files that it names, by path."""
    results = str(configuration.get("results", "results"))
    files = {
        Path(text)
        for text in _files_read_with_study(configuration)
        if not text.startswith(f"{results}/")
    }
    contents = {str(file): file.read_bytes() for file in files if file.is_file()}
    study = f"study {configuration.get('study')} in {results}"
    plain = json.loads(json.dumps(configuration, default=str))  # keys may be numbers
    contents[study] = json.dumps(plain, sort_keys=True).encode()
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def _files_read_with_study(value: Any, key: object = "") -> Iterator[str]:
    """Yield the paths in a configuration that are read with it: code, YAML files and tables."""
    if isinstance(value, str):
        if value.endswith(_READ_WITH_THE_STUDY) or key in _TABLES:
            yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _files_read_with_study(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from _files_read_with_study(part)
