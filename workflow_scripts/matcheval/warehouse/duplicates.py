"""Duplicates: the same picture twice in a set, in two sets, or in a base or training set.

Two images show the same picture if their pixels are equal (exact), or if their perceptual hashes
differ in at most so many bits (near).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, count, pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from matcheval.io.tables import Column, TableSchema, text

COPY, CONFLICT, ACROSS, LEAKED = "copy", "two classes", "across", "leaked"

DUPLICATES_SCHEMA = TableSchema(
    "duplicates",
    (
        text("set", "name of the set"),
        text("image_id", "the image"),
        text("class_given", "its class"),
        Column("finding", pa.string(), "",
               "copy: of an earlier image of its set and class; two classes: its set has it "
               "under another class, too; across: it is in an earlier set; leaked: it is in a set "
               "of `against`"),
        text("match", "kind of match: exact or near"),
        Column("bits", pa.int8(), "bits", "differing bits of the perceptual hashes"),
        text("other_set", "where the other image is"),
        text("other", "the other image"),
        text("other_class", "its class"),
    ),
)  # fmt: skip
REFERENCE_SCHEMA = TableSchema(
    "hashes of a set",
    (
        text("name", "name of the image in its source"),
        text("class", "its class"),
        text("sha256", "of pixels and shape"),
        Column("phash", pa.uint64(), "", "perceptual hash"),
    ),
)


def similar_pairs(hashes: npt.NDArray[np.uint64], distance: int) -> npt.NDArray[np.int64]:
    """Find all pairs of distinct 64-bit hashes that differ in few bits: positions, and these bits.

    Hashes are cut into d + 2 parts. Two that differ in at most d bits are equal in at least two
    parts, so that for every choice of two parts only hashes that are equal in both are compared:
    multi-index hashing by Norouzi, Punjani & Fleet (2012), section 3, with pairs of parts.
    """
    bounds = np.linspace(0, 64, distance + 3).astype(int)
    masks = [np.uint64(sum(1 << bit for bit in range(a, b))) for a, b in pairwise(bounds)]
    found = [np.empty((0, 3), np.int64)]
    for one, other in combinations(masks, 2):
        keys = hashes & (one | other)
        order = np.argsort(keys, kind="stable")
        keys, starts = keys[order], np.arange(len(hashes))
        for offset in count(1):  # of the second hash of a pair, in this order
            starts = starts[starts + offset < len(hashes)]
            starts = starts[keys[starts] == keys[starts + offset]]
            if not len(starts):
                break
            i, j = order[starts], order[starts + offset]
            bits = np.bitwise_count(hashes[i] ^ hashes[j])
            found.append(np.column_stack([i, j, bits])[bits <= distance])
    pairs = np.concatenate(found)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    is_again = (pairs[1:] == pairs[:-1]).all(axis=1)
    return np.delete(pairs, np.flatnonzero(is_again), axis=0)


_Image = tuple[str, str, str]  # set, name and class
# Position of an image of the warehouse, and its row: a finding without the image itself.
_Finding = tuple[int, tuple[str, str, int, str, str, str]]


def find_duplicates(
    read: Mapping[str, pa.Table], references: Mapping[str, pa.Table], distance: int | str
) -> pa.Table:
    """Find duplicates within sets, across sets, and in base and training sets."""
    sound = {
        name: table.filter(pc.is_null(table["problem"]))
        .select(["image_id", "class_given", "sha256", "phash"])
        .rename_columns(REFERENCE_SCHEMA.names)
        for name, table in read.items()
    }
    ours, theirs = _joined(sound), _joined(references)
    images, others = (
        list(zip(t["set"], t["name"], t["class"], strict=True)) for t in (ours, theirs)
    )
    likeness = _Likeness(ours, theirs, distance)
    found = [*_within_and_across(images, likeness), *_leaks(others, likeness)]
    found.sort(key=lambda finding: finding[0])  # stable: findings of an image keep their order
    rows = [(*images[i], *row) for i, row in found]
    return DUPLICATES_SCHEMA.from_frame(
        pd.DataFrame(rows, columns=DUPLICATES_SCHEMA.names, dtype=object)
    )


def _joined(tables: Mapping[str, pa.Table]) -> pd.DataFrame:
    """The images of tables of `REFERENCE_SCHEMA`, one after the other, with the names of sets."""
    sets = [name for name, table in tables.items() for _ in range(len(table))]
    parts = [REFERENCE_SCHEMA.arrow.empty_table(), *tables.values()]
    joined: pd.DataFrame = pa.concat_tables(parts, promote_options="permissive").to_pandas()
    return joined.assign(set=sets)


class _Likeness:
    """Which images show the same picture, by codes: of pixels, or of perceptual hashes."""

    def __init__(self, ours: pd.DataFrame, theirs: pd.DataFrame, distance: int | str) -> None:
        pixels = pd.factorize(np.array([*ours["sha256"], *theirs["sha256"]], object))[0]
        codes, pairs = pixels, np.empty((0, 3), np.int64)
        if distance != "off":
            both = np.concatenate([ours["phash"], theirs["phash"]])
            hashes, codes = np.unique(both, return_inverse=True)
            pairs = similar_pairs(hashes, int(distance))
        n = len(ours)
        self.pixels, self.their_pixels = pixels[:n], pixels[n:]
        self.codes, self.their_codes = codes[:n], codes[n:]
        self._others: dict[int, list[tuple[int, int]]] = {}
        for code, other, bits in np.concatenate([pairs, pairs[:, [1, 0, 2]]]).tolist():
            self._others.setdefault(code, []).append((other, bits))

    def near(self, code: int) -> list[tuple[int, int]]:
        """Codes that are alike to a code, itself first, with the differing bits."""
        return [(code, 0), *self._others.get(code, ())]


def _within_and_across(images: Sequence[_Image], likeness: _Likeness) -> Iterator[_Finding]:
    """Go through the images in order; those that are no copies within their set stay."""

    def finding(i: int, kind: str, j: int, bits: int) -> _Finding:
        match = "exact" if likeness.pixels[i] == likeness.pixels[j] else "near"
        return i, (kind, match, bits, *images[j])

    staying: dict[int, dict[str, int]] = {}  # of the set: by code and class, the first image
    earlier: dict[int, int] = {}  # by code, the first image of earlier sets
    marked: set[int] = set()
    for i, (name, _, class_name) in enumerate(images):
        if i and name != images[i - 1][0]:
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


def _leaks(others: Sequence[_Image], likeness: _Likeness) -> Iterator[_Finding]:
    """For every image and reference, the most similar image: an exact copy, or the fewest bits."""
    by_code: dict[int, dict[str, int]] = {}
    by_pixels: dict[int, dict[str, int]] = {}
    for j, (name, _, _) in enumerate(others):
        by_code.setdefault(int(likeness.their_codes[j]), {}).setdefault(name, j)
        by_pixels.setdefault(int(likeness.their_pixels[j]), {}).setdefault(name, j)
    for i in range(len(likeness.codes)):
        found: dict[str, tuple[int, int]] = {}
        for near, bits in likeness.near(int(likeness.codes[i])):
            for name, j in by_code.get(near, {}).items():
                found[name] = min(found.get(name, (bits, j)), (bits, j))
        exact = by_pixels.get(int(likeness.pixels[i]), {})
        for name, (bits, j) in found.items():
            if name in exact:
                yield i, (LEAKED, "exact", 0, *others[exact[name]])
            else:
                yield i, (LEAKED, "near", bits, *others[j])
