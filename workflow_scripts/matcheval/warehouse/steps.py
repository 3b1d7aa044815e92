"""Steps of a build that are not repeated: each file says what it was made from."""

import hashlib
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matcheval.io.files import atomic_file
from matcheval.warehouse import WAREHOUSE_VERSION

LOGGER = logging.getLogger(__name__)


def digest_of(*parts: Any) -> str:
    """Compute a digest of what a step depends on."""
    text = json.dumps([WAREHOUSE_VERSION, *parts], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def unless_done(file: Path, state: str, make: Callable[[], None]) -> bool:
    """Make a file, unless it was made from the same before."""
    record = file.with_name(f".{file.name}.state")
    if file.exists() and record.exists() and record.read_text(encoding="utf-8") == state:
        return False
    record.unlink(missing_ok=True)
    make()
    with atomic_file(record) as partial:
        partial.write_text(state, encoding="utf-8")
    return True
