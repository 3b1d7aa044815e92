"""All jobs of a run are of the study and of the code that it began with.

A job on another machine reads the study again, and every job reads the library. If one of them was
edited meanwhile, tables would be of two states, recorded as one; such a job refuses.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from matcheval.errors import InputError
from matcheval.io.provenance import library_digest

# Environment variable with the digests of the run, by what they are of.
VARIABLE = "MATCHEVAL_RUN"
_LIBRARY = "library"
# Of files that a study names, those that say what to do; others hold data, and have digests.
_READ_WITH_THE_STUDY = (".py", ".yaml", ".yml")
_TABLES = ("models", "manifest")  # keys of tables that do so


def begin_run(configuration: Mapping[str, Any]) -> None:
    """Leave the digests of a study and of the library to the jobs that this process starts."""
    found = {**_digests_of(configuration), _LIBRARY: library_digest()}
    os.environ[VARIABLE] = json.dumps(_begun() | found)


def check_same_study(configuration: Mapping[str, Any], studies: Sequence[object]) -> None:
    """Refuse, in a job, a study that is not as it was when the run began.

    Parameters
    ----------
    configuration : mapping
        The configuration, with the parts of the default study that it leaves out.
    studies : sequence of path
        The files that it is from.
    """
    begun = _begun()
    for name, digest in _digests_of(configuration).items():
        if begun.get(name, digest) != digest:
            raise _edited(name if Path(name).is_file() else " or ".join(map(str, studies)))


def check_same_library() -> None:
    """Refuse, in a job, another library than the run began with."""
    begun = _begun().get(_LIBRARY)
    if begun and begun != library_digest():
        raise _edited(Path(__file__).parents[1])


def _begun() -> dict[str, str]:
    return json.loads(os.environ.get(VARIABLE, "{}"))


def _edited(file: object) -> InputError:
    problem = "was edited since this run began, and results of both states would be mixed"
    return InputError(problem, file=file, remedy="Run the same command again")


def _digests_of(configuration: Mapping[str, Any]) -> dict[str, str]:
    """SHA-256 of a configuration, by its study's name and folder, and of files by their paths."""
    results = str(configuration.get("results", "results"))
    files = {Path(text) for text in _texts(configuration) if not text.startswith(f"{results}/")}
    contents = {str(file): file.read_bytes() for file in files if file.is_file()}
    study = f"study {configuration.get('study')} in {results}"
    plain = json.loads(json.dumps(configuration, default=str))  # keys may be numbers
    contents[study] = json.dumps(plain, sort_keys=True).encode()
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def _texts(value: Any, key: object = "") -> Iterator[str]:
    """Yield the names of files that are read with the study."""
    if isinstance(value, str):
        if value.endswith(_READ_WITH_THE_STUDY) or key in _TABLES:
            yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _texts(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
