"""The published files that can be downloaded: of `sources.yaml`, and of lists that users write."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from matcheval.downloads.verification import Expected
from matcheval.errors import InputError, unknown_name_error
from matcheval.io.user_files import check_columns, read_numbered_rows, read_yaml
from matcheval.names import is_name

SOURCES = Path(__file__).with_name("sources.yaml")
_LISTED = ("model", "dataset", "path", "bytes", "sha256")


@dataclass(frozen=True)
class PublishedFile:
    """A published file; `path` is where a mirror has it, if not under its name."""

    name: str
    urls: tuple[str, ...]
    expected: Expected
    path: str = ""

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


def listed_files(files: str, dataset: str, address: str) -> Mapping[str, PublishedFile]:
    """Read a list of published prediction files, and return those of one dataset by model."""
    path = Path(files)
    header, rows = read_numbered_rows(path, "list of published files")
    check_columns(header, _LISTED, path)
    of_digest, files_of, suffixes = dict[str, str](), dict[str, PublishedFile](), set[str]()
    for line, cells in rows:
        row = {name: cells[name] or "" for name in _LISTED}
        place, shown = f"{path}, line {line}", f"{row['model']} on {row['dataset']}"
        valid = {
            "model": is_name(row["model"]), "dataset": is_name(row["dataset"]),
            "path": bool(row["path"].strip()), "bytes": row["bytes"].isdecimal(),
            "sha256": bool(re.fullmatch("[0-9a-f]{64}", row["sha256"])),
        }  # fmt: skip
        for field in [name for name, is_valid in valid.items() if not is_valid]:
            raise InputError(f"'{row[field]}' is not valid", file=place, field=field)
        if other := of_digest.get(row["sha256"]):
            raise InputError(
                f"{shown} is the same file as {other}", file=place, field="sha256",
                remedy="One of the two was published in place of the other: leave out that model",
            )  # fmt: skip
        of_digest[row["sha256"]] = shown
        if row["dataset"] == dataset:
            if row["model"] in files_of:
                raise InputError(f"{shown} is listed twice", file=place)
            suffixes.add(suffix := Path(row["path"]).suffix)
            files_of[row["model"]] = PublishedFile(
                f"{path.stem}/{dataset}/{row['model']}{suffix}",
                (f"{address.rstrip('/')}/{quote(row['path'])}",),
                Expected(row["sha256"], size=int(row["bytes"])),
                row["path"],
            )
    if len(suffixes) != 1:
        problem = f"files of dataset '{dataset}' of {len(suffixes)} formats"
        raise InputError(problem, file=path, field="path", remedy="Formats do not mix in a dataset")
    return files_of
