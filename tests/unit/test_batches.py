"""Jobs that make several members: what is current is kept, and a failure costs nothing else."""

import json
import os
import shutil
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from matcheval.errors import InputError, StoppedError
from matcheval.execution.batches import Member, kept_member, make_calls, make_members, run_calls
from matcheval.io.provenance import is_made_from, origin_of
from matcheval.study.work import group_into_batches


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
            kept_member(
                name, [tmp_path / "out" / f"{name}.txt"], key, [tmp_path / name],
                partial(write, name, tmp_path / "out", tmp_path / name),
            )
            for name, key in zip("abc", keys, strict=False)
        ]  # fmt: skip
        log.write_text("")
        make_members(members, n_processes=request.param)
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
    copied = shutil.copytree(tmp_path / "out", tmp_path / "copy")  # its record goes with it
    assert is_made_from([copied / "b.txt"], origin_of("k", [tmp_path / "b"]))


def test_a_failure_is_named_and_the_others_are_kept(made):
    with pytest.raises(InputError, match=r"1 of 3 failed; b: .*is bad"):
        made(a="1", b="bad", c="3")
    assert made(b="2") == "b"


def test_a_killed_process_takes_no_other_with_it(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text("killed" if name == "a" else "1")
    members = [Member(name, partial(write, name, tmp_path, tmp_path / name)) for name in "ab"]
    (tmp_path.parent / "log").touch()
    with pytest.raises(InputError, match="1 of 2 failed; a: killed by SIGKILL"):
        make_members(members, n_processes=2)
    assert (tmp_path / "b.txt").read_text() == "1"


def test_what_no_time_is_left_for_is_named(tmp_path):
    members = [
        Member(name, partial(write, name, tmp_path, tmp_path), lambda name=name: name != "b")
        for name in "abc"
    ]
    with pytest.raises(StoppedError, match="b: stopped as its time is nearly over"):
        make_members(members, should_stop=lambda: True)


def test_small_members_are_put_together_and_large_ones_left_out():
    seconds = {"a": 1.0, "b": 2.0, "large": 2.1, "c": 2.0, "d": 2.0, "e": 2.0, "f": 2.0}
    assert group_into_batches(seconds, seconds.__getitem__, 10) == [
        ("a", "b", "c", "d", "e"),
        ("f",),
    ]


def note_threads(*, output: Path) -> None:
    """Write how many threads each library of this process adds up with."""
    assert np.ones(2) @ np.ones(2) == 2  # which loads one
    numbers = [one["num_threads"] for one in threadpool_info()]
    output.parent.mkdir(exist_ok=True)
    output.write_text(f"{numbers} {os.environ['OMP_NUM_THREADS']}")


def test_calls_in_several_processes_add_up_in_one_thread(tmp_path, monkeypatch):
    for library in ("OMP", "OPENBLAS", "MKL"):
        monkeypatch.setenv(f"{library}_NUM_THREADS", "2")
    with threadpool_limits(2):
        make_calls(
            makes=f"{__name__}:note_threads", shared={}, members={name: {} for name in "abc"},
            reads={name: [] for name in "abc"}, output="output", custom_files=[], code="",
            threads=2, results=str(tmp_path), kept=tmp_path / "kept",
            declared=tmp_path / "declared",
        )  # fmt: skip
    files = [tmp_path / f"declared/{name}.parquet" for name in "abc"]
    for file in files:
        numbers, variable = file.read_text().rsplit(" ", 1)
        assert set(json.loads(numbers)) == {1}
        assert variable == "1"


@pytest.mark.parametrize("threads", [1, 2])
def test_calls_of_one_job(tmp_path, threads):
    files = [tmp_path / f"{n}.json" for n in range(4)]
    arguments = [{"values": {"n": n}, "path": str(file)} for n, file in enumerate(files)]
    calls = [
        {"function": "matcheval.io.self_digests:write_json", "arguments": a} for a in arguments
    ]
    run_calls(calls=calls, threads=threads)
    assert [json.loads(file.read_text())["n"] for file in files] == [0, 1, 2, 3]
    calls[2]["arguments"]["path"] = str(tmp_path / "0.json" / "below.json")
    files[3].unlink()
    with pytest.raises(InputError, match="below"):
        run_calls(calls=calls, threads=threads)
    assert files[3].exists()  # a failure costs the others nothing
