"""Files that contain their own SHA-256: every changed bit is noticed."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcheval.errors import InputError
from matcheval.io import self_digests
from matcheval.io.array_archives import write_arrays
from matcheval.io.self_digests import (
    DIGEST_KEY,
    EMPTY_DIGEST,
    enter_digest,
    read_json,
    verify_file,
    write_json,
)
from matcheval.io.tables import read_parquet, write_table

TABLE = pa.table({"n": np.arange(40), "name": [f"x{i}" for i in range(40)]})


def _parquet(path: Path) -> None:
    write_table(TABLE.replace_schema_metadata({"model": "a"}), path)


def _archive(path: Path) -> None:
    write_arrays(path, {"a": np.arange(9), "metadata": np.array("{}")})


def _json(path: Path) -> None:
    write_json({"name": "ä", "values": [1, 2]}, path)


WRITERS = {"table.parquet": _parquet, "archive.npz": _archive, "description.json": _json}


@pytest.mark.parametrize("name", WRITERS)
def test_every_flipped_bit_is_noticed(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    whole = path.read_bytes()
    assert verify_file(path)
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="damaged"):
            verify_file(path)


@pytest.mark.parametrize("name", WRITERS)
def test_equal_contents_give_equal_bytes(tmp_path, name):
    WRITERS[name](tmp_path / "a" / name)
    WRITERS[name](tmp_path / "b" / name)
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_digests_are_no_part_of_what_is_read(tmp_path):
    _parquet(tmp_path / "t.parquet")
    assert read_parquet(tmp_path / "t.parquet").schema.metadata == {b"model": b"a"}
    _json(tmp_path / "d.json")
    assert read_json(tmp_path / "d.json") == {"name": "ä", "values": [1, 2]}


def test_files_of_others_contain_no_digest(tmp_path):
    path = tmp_path / "d.json"
    path.write_text(json.dumps({"a": 1}))
    assert not verify_file(path)
    assert read_json(path) == {"a": 1}


BYTES = st.binary(max_size=90).filter(lambda text: b"sha256-of" not in text)


@settings(max_examples=60, deadline=None)
@given(before=BYTES, after=BYTES, chunk=st.integers(1, 120))
def test_digests_may_lie_anywhere(tmp_path_factory, before, after, chunk):
    """Also where the file is read in parts that divide the digest, or the name it is stored by."""
    path = tmp_path_factory.mktemp("digest") / "x"
    path.write_bytes(before + f"{DIGEST_KEY} {EMPTY_DIGEST}".encode() + after)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(self_digests, "_CHUNK", chunk)
        enter_digest(path)
    assert verify_file(path)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(InputError, match="damaged"):
        verify_file(path)
