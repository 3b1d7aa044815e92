"""Records of results, which lie beside them."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest
from matcheval.io.records import NAME, append_record, read_records
from result_records import ResultRecords


@pytest.mark.parametrize("left", [1, 30, 60])
def test_what_is_recorded_after_a_part_of_a_line(tmp_path, left):
    """As a full disk or a kill leaves it."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name)
    append_record(tmp_path, "a", "of a")
    whole = (tmp_path / NAME).read_text()
    append_record(tmp_path, "b", "of b")
    (tmp_path / NAME).write_text((tmp_path / NAME).read_text()[: len(whole) + left])
    recorded = append_record(tmp_path, "c", "of c")
    found = read_records(tmp_path)
    assert set(found) == {"a", "c"}
    assert found["c"] == recorded


def test_another_run_begins_the_file_while_this_one_waits_for_it(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    lock = fcntl.flock

    def lock_later(stream, how):
        monkeypatch.setattr(fcntl, "flock", lock)
        append_record(tmp_path, "b", "of b")
        lock(stream, how)

    monkeypatch.setattr(fcntl, "flock", lock_later)
    append_record(tmp_path, "a", "of a")
    assert set(read_records(tmp_path)) == {"a", "b"}


def test_copies_get_the_recorded_times_if_their_bytes_are_the_same(tmp_path):
    made, copied = tmp_path / "made", tmp_path / "copied"
    made.mkdir()
    (made / "same").write_text("1")
    (made / "changed").write_text("1")
    recorded = {name: append_record(made, name, "r") for name in ("same", "changed")}
    shutil.copytree(made, copied, copy_function=shutil.copyfile)
    (copied / "changed").write_text("2")
    for file in copied.iterdir():
        os.utime(file, (1000, 1000))
    assert read_records(copied) == recorded
    assert (copied / "same").stat().st_mtime_ns == recorded["same"].state.time
    assert (copied / "changed").stat().st_mtime == 1000


@pytest.mark.parametrize(("made", "left"), [(102, 102), (103, 1)])
def test_a_file_of_many_earlier_results_is_written_anew(tmp_path, made, left):
    (tmp_path / "a").touch()
    for _ in range(made):
        recorded = append_record(tmp_path, "a", "r")
    assert read_records(tmp_path) == {"a": recorded}
    assert len((tmp_path / NAME).read_text().splitlines()) == 1 + left


def test_an_output_is_restored_in_place_of_another_users_file(tmp_path, monkeypatch):
    """Not by writing into it, and giving it a mode, which its owner alone may do."""
    monkeypatch.chdir(tmp_path)
    records = object.__new__(ResultRecords)
    monkeypatch.setattr(ResultRecords, "path", tmp_path / ".snakemake")
    index = Path("index.json")
    index.write_text("before")
    records.backup_output(index)
    index.write_text("a part")
    Path("theirs").hardlink_to(index)
    assert records.restore_output(index)
    assert index.read_text() == "before"
    assert Path("theirs").read_text() == "a part"
    assert not records.restore_output(index)
    assert index.read_text() == "before"
