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
)  # fmt: skip
REFERENCE_SCHEMA = TableSchema(
    "hashes of a set",
    text("name", "name of the image in its source"),
    text("class", "its class"),
    text("sha256", "of pixels and shape"),
    Column("phash", pa.uint64(), "", "perceptual hash"),
)


def similar_pairs(hashes: npt.NDArray[np.uint64], distance: int) -> npt.NDArray[np.int64]:
    """Find all pairs of distinct hashes that differ in at most `distance` bits: rows i, j, bits.

    Hashes are cut into d + 2 parts. Two that differ in at most d bits are equal in at least two
    parts, so that for every choice of two parts only hashes that are equal in both are compared:
    multi-index hashing by Norouzi, Punjani & Fleet (2012), section 3, with pairs of parts.
    """
    bounds = np.linspace(0, 64, distance + 3).astype(int)
    masks = [np.uint64(sum(1 << bit for bit in range(a, b))) for a, b in pairwise(bounds)]
    blocks = [np.empty((0, 3), np.int64)]
    for first, second in combinations(masks, 2):
        keys = hashes & (first | second)
        order = np.argsort(keys, kind="stable")
        keys, starts = keys[order], np.arange(len(hashes))
        for offset in count(1):  # of the second hash of a pair, in this order
            starts = starts[starts + offset < len(hashes)]
            starts = starts[keys[starts] == keys[starts + offset]]
            if not len(starts):
                break
            i, j = order[starts], order[starts + offset]
            bits = np.bitwise_count(hashes[i] ^ hashes[j])
            blocks.append(np.column_stack([i, j, bits])[bits <= distance])
    pairs = np.concatenate(blocks)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    is_again = (pairs[1:] == pairs[:-1]).all(axis=1)
    return np.delete(pairs, np.flatnonzero(is_again), axis=0)


_Image = tuple[str, str, str]  # set, name and class
# Position of an image of the warehouse, and its row: a finding without the image itself.
_Finding = tuple[int, tuple[str, str, int, str, str, str]]


def find_duplicates(
    sets: Mapping[str, pa.Table], references: Mapping[str, pa.Table], distance: int | str
) -> pa.Table:
    """Find duplicates within sets, across sets, and in base and training sets."""
    sound = {
        name: table.filter(pc.is_null(table["problem"]))
        .select(["image_id", "class_given", "sha256", "phash"])
        .rename_columns(REFERENCE_SCHEMA.names)
        for name, table in sets.items()
    }
    own, reference = _concatenate(sound), _concatenate(references)
    images, reference_images = (
        list(zip(t["set"], t["name"], t["class"], strict=True)) for t in (own, reference)
    )
    index = _HashIndex(own, reference, distance)
    findings = [*_find_in_sets(images, index), *_find_leaks(reference_images, index)]
    findings.sort(key=lambda finding: finding[0])  # stable: findings of an image keep their order
    rows = [(*images[i], *row) for i, row in findings]
    return DUPLICATES_SCHEMA.from_frame(
        pd.DataFrame(rows, columns=DUPLICATES_SCHEMA.names, dtype=object)
    )


def _concatenate(tables: Mapping[str, pa.Table]) -> pd.DataFrame:
    """Concatenate tables of `REFERENCE_SCHEMA`; the column `set` has the names of their sets."""
    sets = [name for name, table in tables.items() for _ in range(len(table))]
    parts = [REFERENCE_SCHEMA.arrow.empty_table(), *tables.values()]
    joined: pd.DataFrame = pa.concat_tables(parts, promote_options="permissive").to_pandas()
    return joined.assign(set=sets)


class _HashIndex:
    """Integer codes of images' pixels and of their hashes, and which of these are similar."""

    def __init__(self, own: pd.DataFrame, reference: pd.DataFrame, distance: int | str) -> None:
        pixels = pd.factorize(np.array([*own["sha256"], *reference["sha256"]], object))[0]
        codes, pairs = pixels, np.empty((0, 3), np.int64)
        if distance != "off":
            phashes = np.concatenate([own["phash"], reference["phash"]])
            hashes, codes = np.unique(phashes, return_inverse=True)
            pairs = similar_pairs(hashes, int(distance))
        n = len(own)
        self.pixels, self.reference_pixels = pixels[:n], pixels[n:]
        self.codes, self.reference_codes = codes[:n], codes[n:]
        self._similar: dict[int, list[tuple[int, int]]] = {}
        for code, other, bits in np.concatenate([pairs, pairs[:, [1, 0, 2]]]).tolist():
            self._similar.setdefault(code, []).append((other, bits))

    def similar(self, code: int) -> list[tuple[int, int]]:
        """Return a code and those similar to it, each with the number of differing bits."""
        return [(code, 0), *self._similar.get(code, ())]


def _find_in_sets(images: Sequence[_Image], index: _HashIndex) -> Iterator[_Finding]:
    """Find copies and conflicting classes within sets, and images that an earlier set has, too."""

    def make_finding(i: int, kind: str, j: int, bits: int) -> _Finding:
        match = "exact" if index.pixels[i] == index.pixels[j] else "near"
        return i, (kind, match, bits, *images[j])

    remaining: dict[int, dict[str, int]] = {}  # of the set: by code and class, the first image
    earlier: dict[int, int] = {}  # by code, the first image of earlier sets
    marked: set[int] = set()
    for i, (name, _, class_name) in enumerate(images):
        if i and name != images[i - 1][0]:
            for code, by_class in remaining.items():
                earlier.setdefault(code, min(by_class.values()))
            remaining = {}
        code = int(index.codes[i])
        matches = sorted(
            (j, bits, other)
            for near, bits in index.similar(code)
            for other, j in remaining.get(near, {}).items()
        )
        copy = next(((j, bits) for j, bits, other in matches if other == class_name), None)
        if copy is not None:
            yield make_finding(i, COPY, *copy)
            continue
        for j, bits, _ in matches:
            yield make_finding(i, CONFLICT, j, bits)
            if j not in marked:
                yield make_finding(j, CONFLICT, i, bits)
            marked |= {i, j}
        across = [(earlier[near], bits) for near, bits in index.similar(code) if near in earlier]
        if across:
            yield make_finding(i, ACROSS, *min(across))
        remaining.setdefault(code, {}).setdefault(class_name, i)


def _find_leaks(reference_images: Sequence[_Image], index: _HashIndex) -> Iterator[_Finding]:
    """Find each image's nearest image in every reference: an exact copy, or the fewest bits."""
    by_code: dict[int, dict[str, int]] = {}
    by_pixels: dict[int, dict[str, int]] = {}
    for j, (name, _, _) in enumerate(reference_images):
        by_code.setdefault(int(index.reference_codes[j]), {}).setdefault(name, j)
        by_pixels.setdefault(int(index.reference_pixels[j]), {}).setdefault(name, j)
    for i in range(len(index.codes)):
        nearest: dict[str, tuple[int, int]] = {}
        for near, bits in index.similar(int(index.codes[i])):
            for name, j in by_code.get(near, {}).items():
                nearest[name] = min(nearest.get(name, (bits, j)), (bits, j))
        exact = by_pixels.get(int(index.pixels[i]), {})
        for name, (bits, j) in nearest.items():
            if name in exact:
                yield i, (LEAKED, "exact", 0, *reference_images[exact[name]])
            else:
                yield i, (LEAKED, "near", bits, *reference_images[j])
