"""Paths of files with wildcards, and patterns of wildcards' values."""

import re

from matcheval.study.rules import Artifact, ReportEntry, one_of

TABLE = Artifact("r/{pair}/top{top}", (".parquet", ".csv"))


def test_all_combinations_file_by_file():
    assert TABLE.expand(pair=["a", "b"], top=(1,)) == [
        "r/a/top1.parquet", "r/a/top1.csv", "r/b/top1.parquet", "r/b/top1.csv",
    ]  # fmt: skip
    # A text or number is one value; of a mapping the keys are the values.
    both = ["r/ab/top5.parquet", "r/ab/top5.csv"]
    assert TABLE.expand(pair="ab", top=5) == TABLE.expand(pair={"ab": 0}, top=[5]) == both
    assert TABLE.expand(pair=[], top=[1, 5]) == []


def test_a_pattern_of_names_and_nothing_else():
    names = ["a.b", "axb", "c", "c+", "d", ""]
    assert [name for name in names if re.fullmatch(one_of(["a.b", "c"]), name)] == ["a.b", "c"]
    assert not re.fullmatch(one_of([]), "")


def test_some_wildcards_may_be_left():
    """As of a rule that draws the figures of a pair for several matchings."""
    entry = ReportEntry("c", "of {{ snakemake.wildcards.pair }}", {"of": "{pair}", "by": "{m}"})
    one = Artifact("r/{pair}/{m}/gaps", (".png",), entry).with_wildcards({"m": "ranks"})
    assert one.expand() == ["r/{pair}/ranks/gaps.png"]
    assert one.report.labels == {"of": "{pair}", "by": "ranks"}
