"""Duplicates: the same picture twice in a set, in two sets, or in a base or training set.

Two images show the same picture if their pixels are equal (exact), or if their perceptual hashes
differ in at most so many bits (near).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from matcheval.io.tables import Column, TableSchema
from matcheval.warehouse.settings import DuplicateSettings

COPY, CONFLICT, ACROSS, LEAKED = "copy", "two classes", "across", "leaked"
EXACT, NEAR = "exact", "near"

DUPLICATES_SCHEMA = TableSchema(
    "duplicates",
    (
        Column("set", pa.string(), "", "name of the set"),
        Column("image_id", pa.string(), "", "the image"),
        Column("class_given", pa.string(), "", "its class"),
        Column("finding", pa.string(), "",
               "copy: of an earlier image of its set and class; two classes: its set has it "
               "under another class, too; across: it is in an earlier set; leaked: it is in a set "
               "of `against`"),
        Column("match", pa.string(), "", "kind of match: exact or near"),
        Column("bits", pa.int8(), "bits", "differing bits of the perceptual hashes"),
        Column("other_set", pa.string(), "", "where the other image is"),
        Column("other", pa.string(), "", "the other image"),
        Column("other_class", pa.string(), "", "its class"),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Pictures:
    """Images of all sets, one after the other."""

    sets: Sequence[str]
    names: Sequence[str]
    classes: Sequence[str]
    sha256: Sequence[str]
    phash: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.names)


def find_duplicates(
    read: Mapping[str, pa.Table], references: Mapping[str, pa.Table], settings: DuplicateSettings
) -> pa.Table:
    """Find duplicates within sets, across sets, and in base and training sets."""
    ours, theirs = _ours(read), _theirs(references)
    likeness = _Likeness(ours, theirs, settings.distance)
    rows = [*_within_and_across(ours, likeness), *_leaks(ours, theirs, likeness)]
    rows.sort(key=lambda row: row[0])  # stable: findings of an image keep their order
    columns = list(zip(*(row[1:] for row in rows), strict=True)) or [()] * len(
        DUPLICATES_SCHEMA.names
    )
    return DUPLICATES_SCHEMA.table(dict(zip(DUPLICATES_SCHEMA.names, columns, strict=True)))


def _ours(read: Mapping[str, pa.Table]) -> Pictures:
    sets: list[str] = []
    parts = []
    for name, table in read.items():
        sound = table.filter(pc.is_null(table["problem"]))
        sets += [name] * len(sound)
        parts.append(sound.select(["image_id", "class_given", "sha256", "phash"]))
    table = pa.concat_tables(parts)
    return Pictures(
        sets, table["image_id"].to_pylist(), table["class_given"].to_pylist(),
        table["sha256"].to_pylist(), table["phash"].to_numpy(),
    )  # fmt: skip


def _theirs(references: Mapping[str, pa.Table]) -> Pictures:
    sets = [name for name, table in references.items() for _ in range(len(table))]
    tables = list(references.values())

    def column(name: str) -> list[str]:
        return [value for table in tables for value in table[name].to_pylist()]

    hashes = [table["phash"].to_numpy() for table in tables]
    joined = np.concatenate([*hashes, np.empty(0, np.uint64)]).astype(np.uint64)
    return Pictures(sets, column("name"), column("class"), column("sha256"), joined)


class _Likeness:
    """Which images show the same picture, by codes: of pixels, or of perceptual hashes."""

    def __init__(self, ours: Pictures, theirs: Pictures, distance: int | str) -> None:
        digests: dict[str, int] = {}
        both = [*ours.sha256, *theirs.sha256]
        pixels = np.array([digests.setdefault(one, len(digests)) for one in both], np.int64)
        self.pixels, self.their_pixels = pixels[: len(ours)], pixels[len(ours) :]
        if distance == "off":
            self.codes, self.their_codes = self.pixels, self.their_pixels
            self._starts = np.zeros(len(digests) + 1, np.int64)
            self._others, self._bits = np.empty(0, np.int64), np.empty(0, np.int8)
            return
        from matcheval.warehouse.hash_search import similar_pairs  # loads Numba: seconds

        hashes, codes = np.unique(np.concatenate([ours.phash, theirs.phash]), return_inverse=True)
        self.codes, self.their_codes = codes[: len(ours)], codes[len(ours) :]
        first, second, bits = similar_pairs(hashes, int(distance))
        one = np.concatenate([first, second])
        order = np.argsort(one, kind="stable")
        self._others = np.concatenate([second, first])[order]
        self._bits = np.concatenate([bits, bits])[order]
        self._starts = np.searchsorted(one[order], np.arange(len(hashes) + 1))

    def near(self, code: int) -> Iterator[tuple[int, int]]:
        """Codes that are alike to a code, itself first, with the differing bits."""
        yield code, 0
        start, stop = self._starts[code], self._starts[code + 1]
        yield from zip(
            self._others[start:stop].tolist(), self._bits[start:stop].tolist(), strict=True
        )


_Row = tuple[int, str, str, str, str, str, int, str, str, str]


def _row(
    ours: Pictures, i: int, finding: str, match: tuple[str, int], other: tuple[str, str, str]
) -> _Row:
    return (i, ours.sets[i], ours.names[i], ours.classes[i], finding, *match, *other)


def _within_and_across(ours: Pictures, likeness: _Likeness) -> Iterator[_Row]:
    """Go through the images in order; those that are no copies within their set stay."""
    staying: dict[int, dict[str, int]] = {}  # of the set: by code and class, the first image
    earlier: dict[int, int] = {}  # by code, the first image of earlier sets
    marked: set[int] = set()
    for i, (name, class_name) in enumerate(zip(ours.sets, ours.classes, strict=True)):
        if i and name != ours.sets[i - 1]:
            _add_first(earlier, staying)
            staying = {}
        code = int(likeness.codes[i])
        alike = [
            (j, bits, other)
            for near, bits in likeness.near(code)
            for other, j in staying.get(near, {}).items()
        ]
        copies = [(j, bits) for j, bits, other in alike if other == class_name]
        if copies:
            j, bits = min(copies)
            yield _row(ours, i, COPY, _match(likeness, i, j, bits), _other(ours, j))
            continue
        for j, bits in sorted((j, bits) for j, bits, _ in alike):
            yield _row(ours, i, CONFLICT, _match(likeness, i, j, bits), _other(ours, j))
            if j not in marked:
                yield _row(ours, j, CONFLICT, _match(likeness, i, j, bits), _other(ours, i))
            marked |= {i, j}
        before = [(earlier[near], bits) for near, bits in likeness.near(code) if near in earlier]
        if before:
            j, bits = min(before)
            yield _row(ours, i, ACROSS, _match(likeness, i, j, bits), _other(ours, j))
        staying.setdefault(code, {}).setdefault(class_name, i)


def _add_first(earlier: dict[int, int], staying: Mapping[int, Mapping[str, int]]) -> None:
    for code, by_class in staying.items():
        earlier.setdefault(code, min(by_class.values()))


def _leaks(ours: Pictures, theirs: Pictures, likeness: _Likeness) -> Iterator[_Row]:
    """For every image and reference, the most similar image: an exact copy, or the fewest bits."""
    by_code: dict[int, dict[str, int]] = {}
    by_pixels: dict[int, dict[str, int]] = {}
    for j, name in enumerate(theirs.sets):
        by_code.setdefault(int(likeness.their_codes[j]), {}).setdefault(name, j)
        by_pixels.setdefault(int(likeness.their_pixels[j]), {}).setdefault(name, j)
    for i in range(len(ours)):
        found: dict[str, tuple[int, int]] = {}
        for near, bits in likeness.near(int(likeness.codes[i])):
            for name, j in by_code.get(near, {}).items():
                found[name] = min(found.get(name, (bits, j)), (bits, j))
        exact = by_pixels.get(int(likeness.pixels[i]), {})
        for name, (bits, j) in found.items():
            match = (EXACT, 0) if name in exact else (NEAR, bits)
            j = exact.get(name, j)
            yield _row(ours, i, LEAKED, match, (name, theirs.names[j], theirs.classes[j]))


def _match(likeness: _Likeness, i: int, j: int, bits: int) -> tuple[str, int]:
    return (EXACT if likeness.pixels[i] == likeness.pixels[j] else NEAR), bits


def _other(ours: Pictures, j: int) -> tuple[str, str, str]:
    return ours.sets[j], ours.names[j], ours.classes[j]
