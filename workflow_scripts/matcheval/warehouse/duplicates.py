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
REFERENCE_SCHEMA = TableSchema(
    "hashes of a set",
    (
        Column("name", pa.string(), "", "name of the image in its source"),
        Column("class", pa.string(), "", "its class"),
        Column("sha256", pa.string(), "", "of pixels and shape"),
        Column("phash", pa.uint64(), "", "perceptual hash"),
    ),
)


@dataclass(frozen=True)
class _Pictures:
    """Images of several sets, one after the other."""

    sets: Sequence[str]
    names: Sequence[str]
    classes: Sequence[str]
    sha256: Sequence[str]
    phash: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class _Finding:
    """Image i of the warehouse shows the same picture as another one."""

    i: int
    finding: str
    is_exact: bool
    bits: int
    other: tuple[str, str, str]  # set, name, class


def find_duplicates(
    read: Mapping[str, pa.Table], references: Mapping[str, pa.Table], settings: DuplicateSettings
) -> pa.Table:
    """Find duplicates within sets, across sets, and in base and training sets."""
    sound = {
        name: table.filter(pc.is_null(table["problem"]))
        .select(["image_id", "class_given", "sha256", "phash"])
        .rename_columns(REFERENCE_SCHEMA.names)
        for name, table in read.items()
    }
    ours, theirs = _together(sound), _together(references)
    likeness = _Likeness(ours, theirs, settings.distance)
    found = [*_within_and_across(ours, likeness), *_leaks(ours, theirs, likeness)]
    found.sort(key=lambda one: one.i)  # stable: findings of an image keep their order
    return DUPLICATES_SCHEMA.table({
        "set": [ours.sets[one.i] for one in found],
        "image_id": [ours.names[one.i] for one in found],
        "class_given": [ours.classes[one.i] for one in found],
        "finding": [one.finding for one in found],
        "match": ["exact" if one.is_exact else "near" for one in found],
        "bits": [one.bits for one in found],
        **{name: [one.other[k] for one in found]
           for k, name in enumerate(("other_set", "other", "other_class"))},
    })  # fmt: skip


def _together(tables: Mapping[str, pa.Table]) -> _Pictures:
    """Join tables of `REFERENCE_SCHEMA` by set."""
    sets = [name for name, table in tables.items() for _ in range(len(table))]
    names, classes, digests = (
        [value for table in tables.values() for value in table[column].to_pylist()]
        for column in ("name", "class", "sha256")
    )
    hashes = [np.empty(0, np.uint64), *(table["phash"].to_numpy() for table in tables.values())]
    return _Pictures(sets, names, classes, digests, np.concatenate(hashes))


class _Likeness:
    """Which images show the same picture, by codes: of pixels, or of perceptual hashes."""

    def __init__(self, ours: _Pictures, theirs: _Pictures, distance: int | str) -> None:
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


def _within_and_across(ours: _Pictures, likeness: _Likeness) -> Iterator[_Finding]:
    """Go through the images in order; those that are no copies within their set stay."""

    def finding(i: int, kind: str, j: int, bits: int) -> _Finding:
        is_exact = bool(likeness.pixels[i] == likeness.pixels[j])
        return _Finding(i, kind, is_exact, bits, (ours.sets[j], ours.names[j], ours.classes[j]))

    staying: dict[int, dict[str, int]] = {}  # of the set: by code and class, the first image
    earlier: dict[int, int] = {}  # by code, the first image of earlier sets
    marked: set[int] = set()
    for i, (name, class_name) in enumerate(zip(ours.sets, ours.classes, strict=True)):
        if i and name != ours.sets[i - 1]:
            for code, by_class in staying.items():
                earlier.setdefault(code, min(by_class.values()))
            staying = {}
        code = int(likeness.codes[i])
        alike = sorted(
            (j, bits, other)
            for near, bits in likeness.near(code)
            for other, j in staying.get(near, {}).items()
        )
        copy = next(((j, bits) for j, bits, other in alike if other == class_name), None)
        if copy is not None:
            yield finding(i, COPY, *copy)
            continue
        for j, bits, _ in alike:
            yield finding(i, CONFLICT, j, bits)
            if j not in marked:
                yield finding(j, CONFLICT, i, bits)
            marked |= {i, j}
        before = [(earlier[near], bits) for near, bits in likeness.near(code) if near in earlier]
        if before:
            yield finding(i, ACROSS, *min(before))
        staying.setdefault(code, {}).setdefault(class_name, i)


def _leaks(ours: _Pictures, theirs: _Pictures, likeness: _Likeness) -> Iterator[_Finding]:
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
            is_exact = name in exact
            j = exact.get(name, j)
            bits = 0 if is_exact else bits
            yield _Finding(i, LEAKED, is_exact, bits, (name, theirs.names[j], theirs.classes[j]))
