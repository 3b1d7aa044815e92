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
    """Compute a digest of what a step depends on.

    Parameters
    ----------
    *parts
        JSON values.

    Returns
    -------
    str
        64 hexadecimal digits; others for another version of this part of the library.
    """
    text = json.dumps([WAREHOUSE_VERSION, *parts], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def unless_done(file: Path, state: str, make: Callable[[], None]) -> bool:
    """Make a file, unless it was made from the same before.

    Parameters
    ----------
    file : Path
        The last file that `make` writes.
    state : str
        Digest of all that it depends on; recorded beside it, in a hidden file.
    make : callable
        Writes the file.

    Returns
    -------
    bool
        Whether it was made.
    """
    record = file.with_name(f".{file.name}.state")
    if file.exists() and record.exists() and record.read_text(encoding="utf-8") == state:
        return False
    record.unlink(missing_ok=True)
    make()
    with atomic_file(record) as partial:
        partial.write_text(state, encoding="utf-8")
    return True
