"""Arguments of a command line that describe a whole job."""

import base64
import json
import zlib
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
