"""Digests of code follow imports; files are whole; versions are those installed."""

import shutil
from importlib import metadata
from pathlib import Path

import pytest

from matcheval import provenance
from matcheval.files import sha256_of_file, whole_file
from matcheval.provenance import software_versions

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

    def test_what_a_killed_process_left_is_overwritten(self, tmp_path):
        (tmp_path / ".partial-b").write_text("from a killed process")
        with whole_file(tmp_path / "b") as partial:
            partial.write_text("new")
        assert [p.name for p in tmp_path.iterdir()] == ["b"]

    def test_digest(self, tmp_path):
        (tmp_path / "e").write_bytes(b"")
        empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        assert sha256_of_file(tmp_path / "e") == empty
