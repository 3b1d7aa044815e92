"""Pickles with bytes changed, removed or added, and with stray instructions of the format."""

import io
import pickle
import pickletools
from typing import Any

import numpy as np

from fuzz.campaign import Outcome
from matcheval.datasets.sources import load_plain_pickle

_NAMES = [b"numpy ndarray", b"numpy dtype", b"numpy.core.multiarray _reconstruct",
          b"numpy._core.multiarray _reconstruct", b"_codecs encode"]  # fmt: skip
_PIECES = [
    *(code.code.encode("latin-1") for code in pickletools.opcodes),
    *(b"c" + name.replace(b" ", b"\n") + b"\n" for name in _NAMES),
    b"\x8a\x08" + b"\xff" * 7 + b"\x7f",  # a long, 2^63 - 1
    b"J\xff\xff\xff\x7f", b"r\xff\xff\xff\x7f", b"K\x03", b"X\x02\x00\x00\x00f8", b"U\x02O8",
    b"U\x08" + b"A" * 8, b")", b"(", b"t", b"R", b"b", b"\x81", b"\x85", b"\x86", b"\x87",
]  # fmt: skip


def _seeds() -> list[bytes]:
    values: list[Any] = [
        {b"data": np.arange(60, dtype=np.uint8).reshape(4, 15), b"labels": [0], b"names": [b"x"]},
        np.array(["a", "bc"]), np.array(["a", None, 3], object), np.zeros((2, 0, 3), ">f4"),
        [1, 2.5, True, ("x", b"y"), {"z": 10**30}],
    ]  # fmt: skip
    return [pickle.dumps(value, protocol) for value in values for protocol in range(5)]


def _mutated(content: bytes, generator: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(generator.integers(1, 5)):
        at = int(generator.integers(len(changed) + 1))
        kind = generator.integers(5)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << int(generator.integers(8))
        elif kind == 1 and at < len(changed):
            changed[at] = int(generator.integers(256))
        elif kind == 2:
            del changed[at : at + int(generator.integers(1, 9))]
        elif kind == 3:
            changed[at:at] = changed[: int(generator.integers(1, 40))]
        else:
            changed[at:at] = _PIECES[int(generator.integers(len(_PIECES)))]
    return bytes(changed)


def outcome(n: int, seed: int) -> Outcome:
    """Read `n` pickles; a value of any content is right, for a pickle has no checksum."""
    generator = np.random.default_rng(seed)
    seeds = _seeds()
    found = Outcome("pickles", seed)
    for number in range(n):
        content = _mutated(seeds[int(generator.integers(len(seeds)))], generator)

        def read(content: bytes = content) -> bool:
            value = load_plain_pickle(io.BytesIO(content), "p")
            repr(value)  # touches the values of arrays
            return True

        found.attempt(f"number {number}: {content!r}", read)
    return found
