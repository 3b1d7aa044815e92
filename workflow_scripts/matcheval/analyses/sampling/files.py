"""Read the user's files for sampling: keywords, blacklist, near duplicates, earlier versions."""

from collections.abc import Sequence
from pathlib import Path

from matcheval.analyses.sampling.annotations import ORIGINS
from matcheval.analyses.sampling.duplicates import POOL, Image
from matcheval.analyses.sampling.schemas import PROVENANCE
from matcheval.errors import InputError
from matcheval.io.user_files import read_csv_rows


def read_keywords(path: str | Path) -> dict[str, dict[str, str]]:
    """Read the keywords of images."""
    keywords: dict[str, dict[str, str]] = {origin: {} for origin in ORIGINS}
    for number, row in enumerate(_full_rows(path, ("origin", "image", "keyword"))):
        if row["origin"] not in ORIGINS:
            raise InputError(
                f"row {number} (from 0): '{row['origin']}' is neither pool nor original",
                file=path,
                field="origin",
            )
        known = keywords[row["origin"]]
        if known.setdefault(row["image"], row["keyword"]) != row["keyword"]:
            raise InputError(
                f"row {number} (from 0): image '{row['image']}' has two keywords", file=path
            )
    return keywords


def read_blacklist(path: str | Path) -> list[str]:
    """Read the names of candidates that must not be sampled."""
    return [row["image"] for row in _full_rows(path, ("image",))]


def read_near_duplicates(path: str | Path) -> list[tuple[Image, Image]]:
    """Read pairs of near duplicates."""
    rows = _full_rows(path, ("image", "set", "other"))
    return [((POOL, row["image"]), (row["set"], row["other"])) for row in rows]


def read_previous(path: str | Path) -> list[str]:
    """Read the image names of an earlier version of a set from its provenance table."""
    images: list[str] = PROVENANCE.read(path)["image"].to_pylist()
    return images


def _full_rows(path: str | Path, needed: Sequence[str]) -> list[dict[str, str]]:
    rows = read_csv_rows(path, needed)
    for number, row in enumerate(rows):
        empty = [name for name in needed if not row[name]]
        if empty:
            raise InputError(f"row {number} (from 0): empty cell", file=path, field=empty[0])
    return rows
