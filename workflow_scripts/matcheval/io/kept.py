"""Results that several studies share, and the links by which a study's outputs name them.

Snakemake removes the outputs of a job before the job runs. What takes long to make is therefore
kept at a place that no rule declares; the declared outputs are relative links to it. A job makes
what is missing or outdated there, so that nothing is lost when it fails, and nothing is computed
again because a neighbour in its batch changed.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from matcheval.io.files import atomic_file, file_digest
from matcheval.io.self_digests import digest_of

FOLDER = ".kept"  # of a study: results of its own that are kept


def publish(kept: Path, declared: Path) -> None:
    """Make a declared output a link to a kept file."""
    declared.parent.mkdir(parents=True, exist_ok=True)
    declared.unlink(missing_ok=True)
    declared.symlink_to(os.path.relpath(kept, declared.parent))


def origin_of(key: str, reads: Sequence[Path]) -> str:
    """Return a digest of settings (`key`) and of the contents of the files that are read."""
    return digest_of([key, [file_digest(file) for file in reads]])


def is_made_from(files: Sequence[Path], origin: str) -> bool:
    """Whether files are as they were when they were made from an origin."""
    try:
        recorded = json.loads(_mark(files).read_bytes())
        return bool(recorded == _state(files, origin))
    except (OSError, ValueError):  # a file or the mark is missing or damaged
        return False


def record_origin(files: Sequence[Path], origin: str) -> None:
    """Record what files were made from, beside them."""
    with atomic_file(_mark(files)) as partial:
        partial.write_text(json.dumps(_state(files, origin)), encoding="utf-8")


def _mark(files: Sequence[Path]) -> Path:
    return files[0].with_name(f".{files[0].name}.origin.json")


def _state(files: Sequence[Path], origin: str) -> dict[str, object]:
    return {"origin": origin, "sha256": [file_digest(file) for file in files]}
