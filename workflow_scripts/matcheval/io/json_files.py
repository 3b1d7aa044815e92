"""JSON objects in files that contain their own digest."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matcheval.io.files import atomic_file, readable
from matcheval.io.self_digests import DAMAGED, DIGEST_KEY, EMPTY_DIGEST, enter_digest, verify_file


def write_json(values: Mapping[str, Any], path: str | os.PathLike[str], *, indent: int = 1) -> None:
    """Write a JSON object atomically; the digest of the file is its last entry."""
    text = json.dumps({**values, DIGEST_KEY: EMPTY_DIGEST}, indent=indent, ensure_ascii=False)
    with atomic_file(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")
        enter_digest(partial)


def read_json(path: str | os.PathLike[str], *, remedy: str = DAMAGED) -> Any:
    """Read a JSON file, and verify it if it contains its digest."""
    with readable(path, "readable as JSON", remedy=remedy):
        verify_file(path)
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    if isinstance(values, dict):
        values.pop(DIGEST_KEY, None)
    return values


def digest_of(values: Any) -> str:
    """Return a digest of JSON values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
