"""Digests of code follow imports; files are written atomically; versions are those installed."""

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from matcheval.io import provenance
from matcheval.io.files import atomic_file
from matcheval.io.provenance import software_versions

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A copy of the source code, of which digests are computed."""
    shutil.copytree(ROOT / "workflow_scripts", tmp_path / "s")
    monkeypatch.setattr(provenance, "_ROOT", tmp_path / "s" / "matcheval")
    return tmp_path / "s"


def digest(tree, script, *modules):
    provenance.code_digest.cache_clear()
    return provenance.code_digest(tree / f"{script}.py", *modules)


class TestCodeDigest:
    @pytest.mark.parametrize(
        ("edited", "changes"),
        [
            ("matcheval/protocol/matching.py", {"match_predictions"}),
            ("matcheval/protocol/words.py", {"write_summary"}),
            ("matcheval/io/tables.py", {"match_predictions", "tabulate_runs", "write_summary"}),
            ("tabulate_runs.py", {"tabulate_runs"}),
            ("matcheval/training/losses.py", set()),
            ("matcheval/__init__.py", {"match_predictions", "tabulate_runs", "write_summary"}),
        ],
    )  # fmt: skip
    def test_an_edit_changes_the_digests_of_its_users(self, tree, edited, changes):
        scripts = ("match_predictions", "tabulate_runs", "write_summary")
        before = {script: digest(tree, script) for script in scripts}
        path = tree / edited
        path.write_text(path.read_text() + "\nEDITED = True\n")
        after = {script: digest(tree, script) for script in scripts}
        assert {script for script in scripts if before[script] != after[script]} == changes

    def test_comments_docstrings_and_layout_do_not_count(self, tree):
        before = digest(tree, "match_predictions")
        path = tree / "matcheval" / "protocol" / "matching.py"
        path.write_text("# a comment\n\n" + path.read_text().replace('"""', '"""Edited: ', 1))
        assert digest(tree, "match_predictions") == before

    def test_the_order_of_statements_counts(self, tree):
        path = tree / "matcheval" / "protocol" / "matching.py"
        code = path.read_text()
        path.write_text(code + "\nFIRST = 1\nFIRST = 2\n")
        before = digest(tree, "match_predictions")
        path.write_text(code + "\nFIRST = 2\nFIRST = 1\n")
        assert digest(tree, "match_predictions") != before

    def test_a_function_that_nothing_names_does_not_count(self, tree):
        """Nor do functions that only call each other, and what they import."""
        before = digest(tree, "match_predictions")
        path = tree / "matcheval" / "protocol" / "matching.py"
        code = path.read_text()
        added = "\ndef unnamed():\n    from matcheval.report import pages\n    named_there(pages)\n"
        added += "\ndef named_there(x):\n    unnamed()\n"
        path.write_text(code + added)
        assert digest(tree, "match_predictions") == before
        for use in (
            "\nUSED = 'a text with unnamed in it'\n",
            "\n@cache\ndef more():\n    unnamed()\n",
        ):
            path.write_text(code + added + use)
            used = digest(tree, "match_predictions")
            path.write_text(code + added.replace("unnamed()\n", "unnamed() + 1\n") + use)
            assert len({before, used, digest(tree, "match_predictions")}) == 3
        # Of a module that is imported by name, any function may be called.
        by_name = digest(tree, "tabulate_dataset", "matcheval.protocol.matching")
        path.write_text(code)
        assert digest(tree, "tabulate_dataset", "matcheval.protocol.matching") != by_name

    def test_a_module_that_is_imported_by_name(self, tree):
        room = "matcheval.analyses.groups"
        before = digest(tree, "tabulate_dataset", f"{room}.tables")
        without = digest(tree, "tabulate_dataset")
        path = tree / "matcheval" / "analyses" / "groups" / "tables.py"
        path.write_text(path.read_text() + "\nEDITED = True\n")
        assert digest(tree, "tabulate_dataset", f"{room}.tables") != before
        assert digest(tree, "tabulate_dataset") == without

    def test_no_script_of_a_rule_depends_on_the_study(self, tree):
        """Or else an edit of a stage's or an analysis's declarations would repeat its jobs."""
        of_runs = {"preflight", "run_messages", "scheduling"}
        scripts = {path.stem for path in tree.glob("*.py")} - of_runs
        before = {script: digest(tree, script) for script in scripts}
        for module in ("study/study.py", "study/analysis.py", "registry.py"):
            path = tree / "matcheval" / module
            path.write_text(path.read_text() + "\nEDITED = True\n")
        assert {script: digest(tree, script) for script in scripts} == before

    def test_a_missing_script(self, tree):
        with pytest.raises(FileNotFoundError):
            digest(tree, "nope")


def test_versions():
    versions = software_versions("numpy")
    assert versions["numpy"] == metadata.version("numpy")
    assert set(versions) == {"python", "matcheval", "numpy"}


class TestAtomicFile:
    def test_parent_folders_are_created_and_the_file_is_renamed(self, tmp_path):
        with atomic_file(tmp_path / "a" / "b.txt") as partial:
            partial.write_text("x")
            assert not (tmp_path / "a" / "b.txt").exists()
            assert partial.suffix == ".txt"
        assert (tmp_path / "a" / "b.txt").read_text() == "x"
        assert len(list((tmp_path / "a").iterdir())) == 1

    def test_a_failure_leaves_the_old_file(self, tmp_path):
        (tmp_path / "b").write_text("old")

        def fail():
            with atomic_file(tmp_path / "b") as partial:
                partial.write_text("new")
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]

    def test_files_of_killed_processes_are_deleted(self, tmp_path):
        kill = "import os, signal, sys; from matcheval.io.files import atomic_file\n"
        kill += (
            "with atomic_file(sys.argv[1]) as p: p.touch(); os.kill(os.getpid(), signal.SIGKILL)"
        )
        subprocess.run([sys.executable, "-c", kill, tmp_path / "b"], env=environment(), check=False)
        assert [p.name.startswith(".partial-") for p in tmp_path.iterdir()] == [True]
        with atomic_file(tmp_path / "b") as partial:
            partial.write_text("new")
        assert [p.name for p in tmp_path.iterdir()] == ["b"]

    def test_concurrent_writers_do_not_interfere(self, tmp_path):
        """The slower one, in another process, is not disturbed; the last to finish wins."""
        slow = "import sys; from matcheval.io.files import atomic_file\n"
        slow += (
            "with atomic_file(sys.argv[1]) as p:\n p.write_text('slow'); print(flush=True); input()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", slow, tmp_path / "b"], env=environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as process:  # fmt: skip
            process.stdout.readline()
            with atomic_file(tmp_path / "b") as partial:
                partial.write_text("fast")
            assert (tmp_path / "b").read_text() == "fast"
            process.communicate("go")
        assert process.returncode == 0
        assert (tmp_path / "b").read_text() == "slow"


def environment():
    """This process's environment, with the library on Python's path."""
    return os.environ | {"PYTHONPATH": str(ROOT / "workflow_scripts")}
