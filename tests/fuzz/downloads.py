"""Downloads from a local server that fails in random sequences: the right file, or one message.

Faults: connections that are cut, errors of the server, ranges that are ignored or answered wrongly,
another version or a page in place of the file, headers that are missing or senseless; a process
that ends between attempts, with its part of the file kept or damaged.
"""

import hashlib
import logging
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.campaign import Outcome
from matcheval.downloads.fetching import download
from matcheval.downloads.verification import Expected
from servers import serving

_SIZE = 40_000
_NAME = "data.npy"


def _faults(rng: np.random.Generator, content: bytes) -> list[tuple[Any, ...]]:
    """A sequence of failures of the server, one per request."""
    kinds: list[tuple[Any, ...]] = [
        ("cut", int(rng.integers(0, _SIZE))),
        ("cut", 0),
        ("status", int(rng.choice([404, 403, 416, 429, 500, 503]))),
        ("status", 503, {"Retry-After": str(rng.choice(["1", "²", "-5", "soon", "1e9", ""]))}),
        ("status", 302, {"Location": str(rng.choice(["/nowhere", "", "http://", "ftp://x/y"]))}),
        ("no ranges",),
        ("bytes", content[::-1]),
        ("bytes", content[: int(rng.integers(_SIZE))]),
        ("bytes", content + b"more"),
        ("bytes", b"<!DOCTYPE html><html>not here</html>"),
        ("bytes", b""),
        (None,),
    ]
    return [kinds[int(rng.integers(len(kinds)))] for _ in range(rng.integers(0, 7))]


def outcome(n: int, seed: int) -> Outcome:
    """Download `n` files, with a known checksum, a known size or neither."""
    rng = np.random.default_rng(seed)
    found = Outcome("downloads", seed)
    logging.disable(logging.WARNING)
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        for number in range(n):
            values = rng.integers(0, 256, _SIZE, dtype=np.uint8)
            path = Path(folder, f"{number}", _NAME)
            path.parent.mkdir()
            np.save(path, values)
            content = path.read_bytes()
            path.unlink()
            sha256 = hashlib.sha256(content).hexdigest()
            all_known = Expected(sha256), Expected(size=len(content)), Expected()
            known = all_known[rng.integers(3)]
            server.files = {_NAME: content}
            server.etags, server.lengths = bool(rng.integers(2)), bool(rng.integers(4))
            faults = _faults(rng, content)
            server.failures[_NAME] = list(faults)
            if rng.integers(3) == 0:  # an earlier process's part, perhaps of another version
                part = content if rng.integers(2) else content[::-1]
                path.with_name(f"{_NAME}.part").write_bytes(part[: int(rng.integers(_SIZE))])
            attempts = int(rng.integers(1, 6))

            fetch = partial(
                download, server.url(_NAME), path, known,
                attempts=attempts, hours=0.01, sleep=lambda _: None,
            )  # fmt: skip

            def read(fetch: Any = fetch, path: Path = path, content: bytes = content) -> bool:
                return bool(fetch()) and path.read_bytes() == content

            found.attempt(f"number {number}: {known}, {[fault[:1] for fault in faults]}", read)
            if found.last == "refused" and path.exists():
                found.note("wrong", f"number {number}: refused, and the file is there")
    logging.disable(logging.NOTSET)
    return found
