"""What each result was made from, kept in the folder that holds it.

Snakemake keeps its records in its working directory, by the paths of results: once a folder of
results was moved, or is named in another way, it has none, and no changed setting repeats a job.
These lie beside the results, with paths below the folder of all results, so that moving, copying or
mounting them elsewhere changes nothing.

A file of records has a line per result made; of several for one result, the last counts.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from matcheval.io.files import atomic_file

NAME = ".records.jsonl"
RESULTS = "<results>/"  # stands for the folder of all results in records
_BLOCK, _MOST = 1 << 20, 64  # of larger files, as many blocks are read
_SPARE = 100  # lines of earlier results that a file may have before it is written anew


@dataclass(frozen=True)
class State:
    """A file as it was when it was recorded: bytes, time of modification in ns, digest."""

    size: int
    time: int
    sha256: str

    @classmethod
    def of(cls, file: Path) -> "State":
        """Read a file; of one above 64 MiB, evenly spaced parts."""
        with file.open("rb") as stream:
            status, digest = os.fstat(stream.fileno()), hashlib.sha256()
            for start in range(0, status.st_size, max(_BLOCK, status.st_size // _MOST)):
                stream.seek(start)
                digest.update(stream.read(_BLOCK))
        return cls(status.st_size, status.st_mtime_ns, digest.hexdigest())

    def has_bytes_of(self, other: "State") -> bool:
        """Whether two states are of the same bytes, at any time."""
        return (self.size, self.sha256) == (other.size, other.sha256)


@dataclass(frozen=True)
class Recorded:
    """A result's name in its folder, its state, and a record (JSON) of what it was made from.

    An empty record says that an earlier one no longer holds.
    """

    name: str
    record: str
    state: State | None = None


def read_records(folder: Path) -> dict[str, Recorded]:
    """Return the records of a folder by name; in a copy, results get their recorded times again."""
    file = folder / NAME
    if not file.is_file():
        return {}
    found, is_copy, n_lines = _read(file)
    if (is_copy or n_lines > 2 * len(found) + _SPARE) and os.access(folder, os.W_OK):
        with _locked(file):
            found, is_copy, _ = _read(file)
            if is_copy:
                for one in found.values():
                    _restore_time(folder / one.name, one.state)
            with atomic_file(file) as partial, partial.open("w", encoding="utf-8") as stream:
                stream.writelines([_head(stream), *map(_line, found.values())])
    return found


def append_record(folder: Path, name: str, record: str) -> Recorded:
    """Append the record of a result, with the state that its file has now."""
    file = folder / name
    recorded = Recorded(name, record, State.of(file) if record and file.is_file() else None)
    with _locked(folder / NAME) as stream:
        # It may have been empty when it was opened: another run has written since.
        is_new = not os.fstat(stream.fileno()).st_size
        head = _head(stream) if is_new else _line_break(folder / NAME)
        stream.write(head + _line(recorded))
    return recorded


def _line_break(file: Path) -> str:
    """End a part of a line, as a full disk or a kill leaves it."""
    with file.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return "" if stream.read() == b"\n" else "\n"


def _line(recorded: Recorded) -> str:
    return json.dumps(asdict(recorded)) + "\n"


def _read(file: Path) -> tuple[dict[str, Recorded], bool, int]:
    """Read records by name; also whether the file is a copy, and its number of lines."""
    head, *lines = file.read_text(encoding="utf-8").splitlines() or [""]
    found: dict[str, Recorded] = {}
    for line in lines:
        with suppress(json.JSONDecodeError):  # a part of a line, of a kill or a full disk
            read = json.loads(line)
            state = State(**read["state"]) if read["state"] else None
            found[read["name"]] = Recorded(read["name"], read["record"], state)
    kept = {name: one for name, one in found.items() if one.record}
    return kept, head != str(file.stat().st_ino), len(lines)


def _head(stream: TextIO) -> str:
    """Return the first line of a file of records, by which it is told from copies of it."""
    return f"{os.fstat(stream.fileno()).st_ino}\n"


@contextmanager
def _locked(file: Path) -> Iterator[TextIO]:
    """Open a file of records to append to it, while no other run does."""
    while True:
        with file.open("a", encoding="utf-8") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            # Another run may have replaced the file while this one waited.
            if file.exists() and os.path.samestat(file.stat(), os.fstat(stream.fileno())):
                yield stream
                return


def _restore_time(file: Path, recorded: State | None) -> None:
    """Give a file its recorded time again, which Snakemake compares, if its bytes are the same."""
    if recorded is None or not file.is_file() or file.stat().st_mtime_ns == recorded.time:
        return
    now = State.of(file)
    if now.has_bytes_of(recorded):
        os.utime(file, ns=(now.time, recorded.time))


def recorded_states(files: Iterable[Path], results: Path) -> dict[Path, State]:
    """Return the recorded states of results, and of all results that they were made from."""
    folders: dict[Path, dict[str, Recorded]] = {}
    found: dict[Path, State] = {}
    left = set(files)
    while left:
        file = left.pop()
        if file.parent not in folders:
            folders[file.parent] = read_records(file.parent)
        recorded = folders[file.parent].get(file.name)
        if recorded is None or recorded.state is None:
            continue
        found[file] = recorded.state
        inputs = json.loads(recorded.record)["input"] or []
        below = (path.removeprefix(RESULTS) for path in inputs if path.startswith(RESULTS))
        left |= {results / path for path in below} - set(found)
    return found
