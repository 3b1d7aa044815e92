"""The published files that the workflow can download, as listed in `sources.yaml`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from matcheval.downloads.verification import Expected
from matcheval.errors import unknown_name_error
from matcheval.io.user_files import read_yaml

SOURCES = Path(__file__).with_name("sources.yaml")


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
    entries = [entry for block in read_yaml(path).values() for entry in block["files"].items()]
    return {
        name: PublishedFile(
            name, tuple(of["urls"]), Expected(of.get("sha256"), of.get("md5"), of.get("size"))
        )
        for name, of in entries
    }


def published_file(name: str) -> PublishedFile:
    """Look up a published file."""
    files = published_files()
    if name not in files:
        raise unknown_name_error("file", name, files, file=SOURCES.name)
    return files[name]
