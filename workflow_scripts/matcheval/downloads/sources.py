"""Published files: of `sources.yaml` and of lists that users write; whether a file is the one."""

import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from matcheval.errors import InputError, unknown_name_error
from matcheval.io.files import file_digest
from matcheval.io.user_files import check_columns, read_numbered_rows, read_yaml
from matcheval.names import is_name

SOURCES = Path(__file__).with_name("sources.yaml")
_LISTED = ("model", "dataset", "path", "bytes", "sha256")
_PAGE_STARTS = (b"<!doctype html", b"<html", b"<?xml", b"<head")


@dataclass(frozen=True)
class Expected:
    """Checksums and size that are known in advance of a file; None where unknown."""

    sha256: str | None = None
    md5: str | None = None
    size: int | None = None

    @property
    def has_checksum(self) -> bool:
        """Whether a checksum of the file is known."""
        return bool(self.sha256 or self.md5)

    def __str__(self) -> str:
        """Describe the expected checksum, for messages."""
        md5 = f"MD5 {self.md5}" if self.md5 else "no published checksum"
        return f"SHA-256 {self.sha256}" if self.sha256 else md5


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
def published_files() -> Mapping[str, PublishedFile]:
    """Read the list of all published files, by name."""
    entries = [entry for block in read_yaml(SOURCES).values() for entry in block["files"].items()]
    return {
        name: PublishedFile(
            name, tuple(of["urls"]), Expected(of.get("sha256"), of.get("md5"), of.get("size"))
        )
        for name, of in entries
    }


def published_file(name: str) -> PublishedFile:
    """Return a published file by its name; raise an error if it is not in the list."""
    files = published_files()
    if name not in files:
        raise unknown_name_error("file", name, files, file=SOURCES.name)
    return files[name]


def listed_files(files: str, dataset: str, address: str) -> Mapping[str, PublishedFile]:
    """Read a user's list of published prediction files; return one dataset's, by model."""
    path = Path(files)
    header, rows = read_numbered_rows(path, "list of published files")
    check_columns(header, _LISTED, path)
    by_digest, by_model, suffixes = dict[str, str](), dict[str, PublishedFile](), set[str]()
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
        if other := by_digest.get(row["sha256"]):
            raise InputError(
                f"{shown} is the same file as {other}", file=place, field="sha256",
                remedy="One of the two was published in place of the other: leave out that model",
            )  # fmt: skip
        by_digest[row["sha256"]] = shown
        if row["dataset"] == dataset:
            if row["model"] in by_model:
                raise InputError(f"{shown} is listed twice", file=place)
            suffixes.add(suffix := Path(row["path"]).suffix)
            by_model[row["model"]] = PublishedFile(
                f"{path.stem}/{dataset}/{row['model']}{suffix}",
                (f"{address.rstrip('/')}/{quote(row['path'])}",),
                Expected(row["sha256"], size=int(row["bytes"])),
                row["path"],
            )
    if len(suffixes) != 1:
        problem = f"files of dataset '{dataset}' of {len(suffixes)} formats"
        raise InputError(problem, file=path, field="path", remedy="Formats do not mix in a dataset")
    return by_model


def verify_file(path: Path, expected: Expected) -> str:
    """Raise an error if a file's size or checksum is not as expected; return its SHA-256."""
    size = path.stat().st_size
    if expected.size is not None and size != expected.size:
        raise InputError(f"has {size:,} bytes, not {expected.size:,}", file=path)
    sha256 = file_digest(path)
    if expected.sha256 and sha256 != expected.sha256:
        raise InputError(f"has sha256 {sha256}, not {expected.sha256}", file=path)
    if expected.md5 and not expected.sha256 and (md5 := file_digest(path, "md5")) != expected.md5:
        raise InputError(f"has md5 {md5}, not {expected.md5}", file=path)
    return sha256


def check_format(path: Path, name: str) -> None:
    """Refuse an empty file, a web page, or one that is incomplete as far as its format shows it."""
    with path.open("rb") as file:
        start = file.read(512)
    if not start:
        raise InputError("is empty", file=path)
    if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:20].lower().startswith(_PAGE_STARTS):
        raise InputError("is a web page", file=path)
    suffix = next((end for end in _CHECKS if name.lower().endswith(end)), None)
    if suffix is not None and not _CHECKS[suffix](path, start):
        raise InputError(
            f"is not a complete {suffix} file (it begins with {start[:8]!r})", file=path
        )


def _is_zip(path: Path, start: bytes) -> bool:
    return start[:4] == b"PK\x03\x04" and zipfile.is_zipfile(path)  # its list is at the end


def _is_safetensors(path: Path, start: bytes) -> bool:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy"):  # which compares the sizes in the header with the file's
            return True
    except SafetensorError:
        return False


# Of the files that are published without a checksum.
_CHECKS: dict[str, Callable[[Path, bytes], bool]] = {
    ".npz": _is_zip,
    ".safetensors": _is_safetensors,
}
