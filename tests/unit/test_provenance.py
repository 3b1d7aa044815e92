"""Digests of code follow imports; files are written atomically; files tell their own damage."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcheval.errors import InputError
from matcheval.io import provenance, self_digests
from matcheval.io.array_archives import write_arrays
from matcheval.io.files import atomic_file
from matcheval.io.self_digests import (
    DIGEST_KEY,
    EMPTY_DIGEST,
    enter_digest,
    read_json,
    verify_file,
    write_json,
)
from matcheval.io.tables import read_parquet, write_table

ROOT = Path(__file__).parents[2]


MATCHING, SUMMARY = "matcheval.protocol.matching", "matcheval.protocol.words"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A copy of the source code, of which digests are computed."""
    shutil.copytree(ROOT / "workflow_scripts", tmp_path / "s")
    monkeypatch.setattr(provenance, "_SCRIPTS", tmp_path / "s")
    return tmp_path / "s"


def digest(*names):
    provenance.code_digest.cache_clear()
    return provenance.code_digest(*names)


class TestCodeDigest:
    @pytest.mark.parametrize(
        ("edited", "changes"),
        [
            ("matcheval/protocol/matching.py", {"match"}),
            ("matcheval/protocol/words.py", {"summary"}),
            ("matcheval/protocol/__init__.py", {"match", "summary"}),
            ("matcheval/__init__.py", {"match", "summary"}),
        ],
    )  # fmt: skip
    def test_an_edit_changes_the_digests_of_its_users(self, tree, edited, changes):
        """Statements that do something count, whoever names what they define."""
        names = {"match": f"{MATCHING}:match", "summary": f"{SUMMARY}:write_summary"}
        before = {name: digest(function) for name, function in names.items()}
        path = tree / edited
        path.write_text(path.read_text() + "\nprint()\n")
        after = {name: digest(function) for name, function in names.items()}
        assert {name for name in names if before[name] != after[name]} == changes


def test_code_is_parsed_again_only_if_it_has_changed(tmp_path, monkeypatch):
    parsed = []

    def parse(*names):
        parsed.append(names)
        return " ".join(names)

    monkeypatch.setattr(provenance, "code_digest", parse)
    scripts, file = tmp_path / "scripts", tmp_path / "records" / "digests.json"
    (scripts / "matcheval" / "io").mkdir(parents=True)
    library = scripts / "matcheval" / "io" / "files.py"
    library.write_text("1")

    def kept():
        digests = provenance.CodeDigests(scripts, file)
        found = digests("train", "module")
        digests.save()
        return found

    assert kept() == kept() == "train module"
    assert parsed == [("train", "module")]
    for times, (path, text) in enumerate(((library, "3"), (file, "{damaged")), 2):
        path.write_text(text)
        assert kept() == "train module"
        assert parsed == [("train", "module")] * times


class TestAtomicFile:
    def test_a_failure_leaves_the_old_file(self, tmp_path):
        (tmp_path / "b").write_text("old")
        stop = Mock(side_effect=KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "b") as partial:
            stop(partial.write_text("new"))
        assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]

    def test_files_of_killed_processes_are_deleted(self, tmp_path):
        kill = "p.touch(); import os; os.kill(os.getpid(), 9)"
        writing(tmp_path / "b", kill).communicate()
        assert [p.name.startswith(".partial-") for p in tmp_path.iterdir()] == [True]
        with atomic_file(tmp_path / "b") as partial:
            partial.write_text("new")
        assert [p.name for p in tmp_path.iterdir()] == ["b"]

    def test_concurrent_writers_do_not_interfere(self, tmp_path):
        """The slower one, in another process, is not disturbed; the last to finish wins."""
        with writing(tmp_path / "b", "p.write_text('slow'); print(flush=True); input()") as process:
            process.stdout.readline()
            with atomic_file(tmp_path / "b") as partial:
                partial.write_text("fast")
            assert (tmp_path / "b").read_text() == "fast"
            process.communicate("go")
        assert process.returncode == 0
        assert (tmp_path / "b").read_text() == "slow"


def writing(file, code):
    """A process that writes a file in its own way."""
    code = f"with new(sys.argv[1]) as p: {code}"
    code = f"import sys; from matcheval.io.files import atomic_file as new\n{code}"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow_scripts")}
    return subprocess.Popen(
        [sys.executable, "-c", code, file], env=environment, text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )  # fmt: skip


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
