"""Jobs that make several members: what is current is kept, and a failure costs nothing else."""

import json
import os
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from matcheval.errors import InputError
from matcheval.execution.batches import (
    Member,
    make_calls,
    make_members,
    members_in,
    remove_outdated,
)  # fmt: skip
from matcheval.execution.calls import make_all
from matcheval.study.batches import in_batches


def write(name: str, folder: Path, source: Path) -> None:
    """Copy a file; log that it was done, fail or be killed if the file says so."""
    text = source.read_text()
    if text == "bad":
        raise InputError("is bad", file=source)
    if text == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    (folder / f"{name}.txt").write_text(text)
    with (folder.parent / "log").open("a") as log:
        log.write(name)


@pytest.fixture(params=[1, 2])
def made(request, tmp_path):
    """Make members in one or two processes, and return the names of those that were made."""
    (tmp_path / "out").mkdir()
    log = tmp_path / "log"

    def make(keys="kkk", **texts):
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        members = [
            Member(
                name, (tmp_path / "out" / f"{name}.txt",), key, (tmp_path / name,), write,
                {"name": name, "folder": tmp_path / "out", "source": tmp_path / name},
            )
            for name, key in zip("abc", keys, strict=False)
        ]  # fmt: skip
        log.write_text("")
        make_members(tmp_path / "index.json", members, tmp_path, n_processes=request.param)
        return "".join(sorted(log.read_text()))

    return make


def test_only_what_is_missing_or_outdated_is_made(made, tmp_path):
    assert made(a="1", b="2", c="3") == "abc"
    assert made() == ""
    assert made(b="4") == "b"
    assert made(keys="kkl") == "c"
    (tmp_path / "out/a.txt").write_text("x")  # damaged, of the same size
    assert made(keys="kkl") == "a"
    (tmp_path / "out/a.txt").unlink()
    assert made(keys="kkl") == "a"
    assert made(keys="kk") == ""  # a member less
    assert list(members_in(tmp_path / "index.json", tmp_path)) == [
        tmp_path / "out/a.txt", tmp_path / "out/b.txt",
    ]  # fmt: skip


def test_a_failure_is_named_and_the_others_are_kept(made, tmp_path):
    with pytest.raises(InputError, match=r"1 of 3 failed; b: .*is bad"):
        made(a="1", b="bad", c="3")
    assert not (tmp_path / "index.json").exists()
    assert made(b="2") == "b"


def test_a_killed_process_takes_no_other_with_it(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text("killed" if name == "a" else "1")
    members = [
        Member(
            name, (tmp_path / f"{name}.txt",), "", (tmp_path / name,),
            partial(write, folder=tmp_path, source=tmp_path / name), {"name": name},
        )
        for name in "ab"
    ]  # fmt: skip
    (tmp_path.parent / "log").touch()
    with pytest.raises(InputError, match="1 of 2 failed; a: killed by SIGKILL"):
        make_members(tmp_path / "index.json", members, tmp_path, n_processes=2)
    assert (tmp_path / "b.txt").read_text() == "1"


def test_a_list_of_missing_or_cut_files_is_removed(made, tmp_path):
    index = tmp_path / "index.json"
    for text in (None, "", "damaged"):
        made(a="1", b="2", c="3")
        remove_outdated([str(index), str(tmp_path / "none.json")], tmp_path)
        assert index.exists()
        if text is None:
            (tmp_path / "out/b.txt").unlink()
        elif text == "":
            (tmp_path / "out/b.txt").write_text(text)
        else:
            index.write_text("{")
        remove_outdated([str(index)], tmp_path)
        assert not index.exists()


def test_small_members_are_put_together_and_large_ones_left_out():
    seconds = {"a": 1.0, "b": 2.0, "large": 2.1, "c": 2.0, "d": 2.0, "e": 2.0, "f": 2.0}
    assert in_batches(seconds, seconds.__getitem__, 10) == [("a", "b", "c", "d", "e"), ("f",)]


def note_threads(*, output: Path) -> None:
    """Write how many threads each library of this process adds up with."""
    assert np.ones(2) @ np.ones(2) == 2  # which loads one
    numbers = [one["num_threads"] for one in threadpool_info()]
    output.write_text(f"{numbers} {os.environ['OMP_NUM_THREADS']}")


def test_calls_in_several_processes_add_up_in_one_thread(tmp_path, monkeypatch):
    for library in ("OMP", "OPENBLAS", "MKL"):
        monkeypatch.setenv(f"{library}_NUM_THREADS", "2")
    files = [tmp_path / f"{name}.txt" for name in "abc"]
    calls = [
        {
            "member": file.stem, "files": [str(file)], "reads": [], "key": "k",
            "call": {
                "function": f"{__name__}:note_threads", "arguments": {"output": str(file)},
            },
        }
        for file in files
    ]  # fmt: skip
    with threadpool_limits(2):
        make_calls(calls=calls, code="", results=tmp_path, index=tmp_path / "i.json", threads=2)
    for file in files:
        numbers, variable = file.read_text().rsplit(" ", 1)
        assert set(json.loads(numbers)) == {1}
        assert variable == "1"


@pytest.mark.parametrize("threads", [1, 2])
def test_calls_of_one_job(tmp_path, threads, caplog):
    files = [tmp_path / f"{n}.json" for n in range(4)]
    arguments = [{"values": {"n": n}, "path": str(file)} for n, file in enumerate(files)]
    calls = [{"function": "matcheval.io.json_files:write_json", "arguments": a} for a in arguments]
    make_all(calls=calls, inputs=[], outputs=[], threads=threads)
    assert [json.loads(file.read_text())["n"] for file in files] == [0, 1, 2, 3]
    calls[2]["arguments"]["path"] = str(tmp_path / "0.json" / "below.json")
    files[3].unlink()
    with pytest.raises((RuntimeError, InputError), match="below"):
        make_all(calls=calls, inputs=[], outputs=[], threads=threads)
    assert files[3].exists() == (threads > 1)
