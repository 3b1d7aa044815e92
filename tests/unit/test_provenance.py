"""Digests of code follow imports; files are whole; versions are those installed."""

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from matcheval.io import provenance
from matcheval.io.files import whole_file
from matcheval.io.provenance import software_versions

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A copy of the sources, of which digests are taken."""
    shutil.copytree(ROOT / "workflow_scripts", tmp_path / "s")
    monkeypatch.setattr(provenance, "_ROOT", tmp_path / "s" / "matcheval")
    return tmp_path / "s"


def digest(tree, script):
    provenance.code_digest.cache_clear()
    return provenance.code_digest(tree / f"{script}.py")


class TestCodeDigest:
    @pytest.mark.parametrize(
        ("edited", "changes"),
        [
            ("matcheval/matching.py", {"match_predictions", "save_pairs"}),
            ("matcheval/summaries.py", {"write_summary"}),
            ("matcheval/tables.py", {"match_predictions", "save_pairs", "tabulate_runs",
                                     "write_summary"}),
            ("tabulate_runs.py", {"tabulate_runs"}),
            ("matcheval/training/losses.py", set()),
            ("matcheval/__init__.py", {"match_predictions", "save_pairs", "tabulate_runs",
                                       "write_summary"}),
        ],
    )  # fmt: skip
    def test_an_edit_changes_who_uses_it(self, tree, edited, changes):
        scripts = ("match_predictions", "save_pairs", "tabulate_runs", "write_summary")
        before = {script: digest(tree, script) for script in scripts}
        path = tree / edited
        path.write_text(path.read_text() + "\nEDITED = True\n")
        after = {script: digest(tree, script) for script in scripts}
        assert {script for script in scripts if before[script] != after[script]} == changes

    def test_comments_and_layout_do_not_count(self, tree):
        before = digest(tree, "match_predictions")
        path = tree / "matcheval" / "matching.py"
        path.write_text("# a comment\n\n" + path.read_text())
        assert digest(tree, "match_predictions") == before

    def test_a_missing_script(self, tree):
        with pytest.raises(FileNotFoundError):
            digest(tree, "nope")


def test_versions():
    versions = software_versions("numpy")
    assert versions["numpy"] == metadata.version("numpy")
    assert set(versions) == {"python", "matcheval", "numpy"}


class TestWholeFile:
    def test_makes_parents_and_renames(self, tmp_path):
        with whole_file(tmp_path / "a" / "b.txt") as partial:
            partial.write_text("x")
            assert not (tmp_path / "a" / "b.txt").exists()
            assert partial.suffix == ".txt"
        assert (tmp_path / "a" / "b.txt").read_text() == "x"
        assert len(list((tmp_path / "a").iterdir())) == 1

    def test_a_failure_leaves_the_old_file(self, tmp_path):
        (tmp_path / "b").write_text("old")

        def fail():
            with whole_file(tmp_path / "b") as partial:
                partial.write_text("new")
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]

    def test_what_a_killed_process_left_is_removed(self, tmp_path):
        kill = "import os, signal, sys; from matcheval.io.files import whole_file\n"
        kill += "with whole_file(sys.argv[1]) as p: p.touch(); os.kill(os.getpid(), signal.SIGKILL)"
        subprocess.run([sys.executable, "-c", kill, tmp_path / "b"], env=environment(), check=False)
        assert [p.name.startswith(".partial-") for p in tmp_path.iterdir()] == [True]
        with whole_file(tmp_path / "b") as partial:
            partial.write_text("new")
        assert [p.name for p in tmp_path.iterdir()] == ["b"]

    def test_two_writers_do_not_meet(self, tmp_path):
        """The slower one, in another process, is left alone; the last to finish wins."""
        slow = "import sys; from matcheval.io.files import whole_file\n"
        slow += (
            "with whole_file(sys.argv[1]) as p:\n p.write_text('slow'); print(flush=True); input()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", slow, tmp_path / "b"], env=environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as process:  # fmt: skip
            process.stdout.readline()
            with whole_file(tmp_path / "b") as partial:
                partial.write_text("fast")
            assert (tmp_path / "b").read_text() == "fast"
            process.communicate("go")
        assert process.returncode == 0
        assert (tmp_path / "b").read_text() == "slow"


def environment():
    """This process's environment, with the library to be found."""
    return os.environ | {"PYTHONPATH": str(ROOT / "workflow_scripts")}
