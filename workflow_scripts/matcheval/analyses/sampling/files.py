"""What sampling reads of files: keywords, blacklist, near duplicates, earlier versions."""

from collections.abc import Sequence
from pathlib import Path

from matcheval.analyses.sampling.annotations import ORIGINS
from matcheval.analyses.sampling.duplicates import POOL, Image
from matcheval.analyses.sampling.schemas import PROVENANCE
from matcheval.errors import InputError
from matcheval.io.csv_rows import read_csv_rows


def read_keywords(path: str | Path) -> dict[str, dict[str, str]]:
    """Read the keyword of every image: CSV with columns `origin`, `image`, `keyword`.

    Returns
    -------
    dict
        Keywords by image, by origin (`pool`, `original`).
    """
    keywords: dict[str, dict[str, str]] = {origin: {} for origin in ORIGINS}
    for number, row in enumerate(_full_rows(path, ("origin", "image", "keyword"))):
        if row["origin"] not in ORIGINS:
            raise InputError(
                f"row {number}: '{row['origin']}' is neither pool nor original",
                file=path,
                field="origin",
            )
        known = keywords[row["origin"]]
        if known.setdefault(row["image"], row["keyword"]) != row["keyword"]:
            raise InputError(f"row {number}: image '{row['image']}' has two keywords", file=path)
    return keywords


def read_blacklist(path: str | Path) -> list[str]:
    """Read the images that may not be sampled: CSV with a column `image`, perhaps others."""
    return [row["image"] for row in _full_rows(path, ("image",))]


def read_near_duplicates(path: str | Path) -> list[tuple[Image, Image]]:
    """Read pairs of near duplicates: CSV with columns `image`, `set`, `other`.

    `image` is of the pool; `other` is of the dataset that `set` names, or of the pool if it says
    `pool`. An image of the pool that is no candidate links others all the same.
    """
    rows = _full_rows(path, ("image", "set", "other"))
    return [((POOL, row["image"]), (row["set"], row["other"])) for row in rows]


def read_previous(path: str | Path) -> list[str]:
    """Read the images of an earlier version from its table of provenance."""
    images: list[str] = PROVENANCE.read(path)["image"].to_pylist()
    return images


def _full_rows(path: str | Path, needed: Sequence[str]) -> list[dict[str, str]]:
    rows = read_csv_rows(path, needed)
    for number, row in enumerate(rows):
        empty = [name for name in needed if not row[name]]
        if empty:
            raise InputError(f"row {number}: empty", file=path, field=empty[0])
    return rows
