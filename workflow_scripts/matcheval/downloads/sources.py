"""The published files that the workflow knows, from `sources.yaml`."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from matcheval.errors import InputError
from matcheval.io.yaml_files import read_yaml

SOURCES = Path(__file__).with_name("sources.yaml")
_DIGESTS = {"sha256": 64, "md5": 32}


@dataclass(frozen=True)
class PublishedFile:
    """A file that somebody publishes.

    Attributes
    ----------
    name : str
        Its name, by which it is kept and looked for on a mirror.
    dataset : str
        What it is a file of.
    urls : tuple of str
        Where it is, in the order of trial.
    size : int or None
        Bytes.
    sha256, md5 : str or None
        Its published checksums.
    """

    name: str
    dataset: str
    urls: tuple[str, ...]
    size: int | None = None
    sha256: str | None = None
    md5: str | None = None

    @property
    def identity(self) -> str:
        """What makes a downloaded copy another file: its checksums, else where it comes from."""
        return self.sha256 or self.md5 or " ".join(self.urls)


@cache
def published_files(path: str | os.PathLike[str] = SOURCES) -> Mapping[str, PublishedFile]:
    """Read all published files, by name.

    Parameters
    ----------
    path : path-like
        A YAML file like `sources.yaml`, which explains itself.

    Raises
    ------
    InputError
        If a file has no URL, a checksum is none, or a name occurs twice.
    """
    files: dict[str, PublishedFile] = {}
    for dataset, block in read_yaml(path).items():
        for name, entry in block["files"].items():
            if name in files:
                raise InputError("is there twice", file=path, field=name)
            files[name] = PublishedFile(
                name, dataset, tuple(entry.get("urls") or ()),
                *(entry.get(key) for key in ("size", *_DIGESTS)),
            )  # fmt: skip
            _check(files[name], path)
    return files


def published_file(name: str) -> PublishedFile:
    """Look up a published file.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    files = published_files()
    if name not in files:
        raise InputError(
            f"unknown file '{name}'", file=SOURCES.name, remedy=f"Known: {', '.join(files)}"
        )
    return files[name]


def _check(file: PublishedFile, path: object) -> None:
    if not file.urls:
        raise InputError("has no urls", file=path, field=file.name)
    for kind, length in _DIGESTS.items():
        digest = getattr(file, kind)
        if digest is not None and not re.fullmatch(f"[0-9a-f]{{{length}}}", str(digest)):
            raise InputError(f"'{digest}' is no {kind}", file=path, field=file.name)
