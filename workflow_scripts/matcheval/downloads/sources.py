"""The published files that the workflow can download, as listed in `sources.yaml`."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from matcheval.downloads.verification import Expected
from matcheval.errors import InputError
from matcheval.io.user_files import read_yaml

SOURCES = Path(__file__).with_name("sources.yaml")
_DIGESTS = {"sha256": 64, "md5": 32}


@dataclass(frozen=True)
class PublishedFile:
    """A published file."""

    name: str
    urls: tuple[str, ...]
    expected: Expected

    @property
    def identity(self) -> str:
        """Text that changes if another file is published: a checksum, or else the addresses."""
        return self.expected.sha256 or self.expected.md5 or " ".join(self.urls)


@cache
def published_files(path: str | os.PathLike[str] = SOURCES) -> Mapping[str, PublishedFile]:
    """Read the list of all published files."""
    files: dict[str, PublishedFile] = {}
    for block in read_yaml(path).values():
        for name, entry in block["files"].items():
            if name in files:
                raise InputError("occurs twice", file=path, field=name)
            if not entry.get("urls"):
                raise InputError("has no urls", file=path, field=name)
            for kind, length in _DIGESTS.items():
                digest = str(entry.get(kind) or "0" * length)
                if not re.fullmatch(f"[0-9a-f]{{{length}}}", digest):
                    raise InputError(f"'{digest}' is not a valid {kind}", file=path, field=name)
            expected = Expected(*(entry.get(key) for key in (*_DIGESTS, "size")))
            files[name] = PublishedFile(name, tuple(entry["urls"]), expected)
    return files


def published_file(name: str) -> PublishedFile:
    """Look up a published file."""
    files = published_files()
    if name not in files:
        raise InputError(
            f"unknown file '{name}'", file=SOURCES.name, remedy=f"Known: {', '.join(files)}"
        )
    return files[name]
