"""Paths of files with wildcards, and patterns of wildcards' values."""

import re
from types import SimpleNamespace

from jinja2 import Template

from matcheval.execution.entry_points import job_arguments
from matcheval.study.rules import Artifact, ReportEntry, Rule, one_of

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


def test_many_names_are_those_that_others_are_not():
    many = [f"m{i}" for i in range(2_000)]
    pattern = re.compile(rf"index/(?P<name>{one_of(many, ['a', 'b.c'])})\.json$")
    names = ["m0", "m1999", "ab", "a", "b.c", "b", "a.b"]
    found = [name for name in names if pattern.match(f"index/{name}.json")]
    assert found == ["m0", "m1999", "ab", "b", "a.b"]
    assert len(pattern.pattern) < 100
    assert one_of(["c"], ["a", "b"]) == "c"


def test_parameters_run_no_script_in_snakemakes_report():
    """Snakemake writes them as JSON into a script of the page, in which `</script>` ends it."""

    def run(*, classes: tuple[str, ...]) -> None:
        """Stand in for a function of an analysis."""

    classes = ("</script><script>alert(1)</script>", "<unk>", "<!--")
    rule = Rule(name="r", message="", output={}, run=run, arguments=lambda _: {"classes": classes})
    text = rule.packed({})
    assert "<" not in text
    params = {"job": text, "function": rule.function}
    job = SimpleNamespace(params=params, input={}, output={}, wildcards={}, threads=1)
    assert job_arguments(run, job) == {"classes": classes}


def test_a_caption_may_compute_with_wildcards():
    text = "{{ shown[snakemake.wildcards.pair] }} of {{ snakemake.wildcards.top }}"
    artifact = Artifact("r/{pair}/{top}", (".md",), ReportEntry("c", text, {}))
    caption = artifact.of({"pair": "a", "top": "1"}).report.caption
    assert Template(caption).render(shown={"a": "A"}) == "A of 1"
