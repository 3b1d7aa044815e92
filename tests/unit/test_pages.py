"""Numbers on pages are those of their tables, of files, and of the commands shown."""

import re
import shlex

import make_accuracy_page
import make_domains_page
import make_readme
import make_replication_page
import pandas as pd
import pytest
from make_readme import UNTOLD
from take_over import replace_blocks
from test_gap_errors import COVERAGE

import matcheval as me
from matcheval.cli.main import main
from matcheval.protocol.settings import MatchingSettings
from studies import ROOT


def words_of(page):
    return " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())


def points(value, shown=".1f"):
    return f"{100 * value:{shown}}".replace("-", "−")


@pytest.mark.parametrize(
    ("script", "read"),
    [
        (make_accuracy_page, lambda block: make_accuracy_page.BLOCKS[block]()),
        (make_domains_page, lambda block: make_domains_page.BLOCKS[block]()),
        (make_replication_page, lambda block: make_replication_page.BLOCKS[block]()),
    ],
)
def test_a_page_is_made_by_its_script(script, read):
    page = script.PAGE.read_text(encoding="utf-8")
    assert "<!-- begin " in page
    assert replace_blocks(page, read) == page, script.__name__


def test_tables_of_pages_are_made_by_their_script():
    named = set()
    for name in make_readme.PAGES:
        page = (ROOT / name).read_text(encoding="utf-8")
        entered = lambda block: named.add(block) or make_readme.BLOCKS[block]()  # noqa: E731
        assert replace_blocks(page, entered) == page, name
    assert named == set(make_readme.BLOCKS)


def result(name):
    return pd.read_csv(ROOT / "benchmarks" / "results" / f"{name}.csv")


def ends(values, shown=".1f"):
    return f"{values.min():{shown}} to {values.max():{shown}}"


def protocol():
    yield f"up to ε, {100 * MatchingSettings().epsilon:.1f} points"
    yield "simulated truth in {:.0f} to {:.0f} %".format(*(100 * end for end in COVERAGE))
    sd = [f"{value:.0f}" for value in result("reference_spread")["excess_sd"]]
    yield f"of {sd[0]} points with 600 and 497 datapoints, and of {sd[4]} with 10,000"
    assert result("verdicts").set_index("case")["wrong"].drop(UNTOLD).max() <= 5
    table = result("binning_bias")
    yield f"covered it in {ends(table['coverage_wide'], 'g')} % of runs"
    yield f"alone in as few as {table['coverage_20_bins'].min():.0f} %"
    intervals = result("interval_coverage").filter(regex="matched_gap|_wide")
    yield f"in {ends(intervals.to_numpy(), '.0f')} % of runs ([table]"


def test_sentences_tell_what_the_files_say():
    told = [one.replace("-", "−") for one in protocol()]
    assert [one for one in told if one not in words_of("protocol.md")] == []


def test_commands_print_what_the_pages_show(tmp_path, monkeypatch, capsys):
    """The session of few-labels.md and the tutorial's twenty labels; all labels are filled in."""
    monkeypatch.chdir(tmp_path)
    main(["init", "--example", "predictions"])
    monkeypatch.chdir("example-predictions/new-writers")
    compared = me.compare("../known-writers/{model}.csv", "{model}.csv", seeds=1)
    over = compared.to_pandas("models", all=True).drop_duplicates("model").set_index("model")
    over = 100 * over["overconfidence_replication"]
    table = pd.read_csv("random-forest.csv")
    page = (ROOT / "docs" / "few-labels.md").read_text(encoding="utf-8")
    session = re.findall(r"^\$ matched-eval (.*)\n((?:(?!\$|```).*\n)*)", page, re.MULTILINE)
    for command, shown in session:
        capsys.readouterr()
        main(shlex.split(command))
        assert set(shown.splitlines()) - set(capsys.readouterr().out.splitlines()) == set()
        if folder := re.search("--output (.*)", command):
            work = pd.read_csv(f"{folder[1]}/worklist.csv")
            work.assign(label=table["label"][work["index"]].array).to_csv("labels.csv", index=False)
        if folder and folder[1] == "first":
            found = me.estimate_accuracy("random-forest.csv", "labels.csv", plan="first/plan.json")
            interval = f"{found.lower:.3f} to {found.upper:.3f}"
    assert len(session) == 5
    n, every = len(table), f"{(table['label'] == table['prediction']).mean():.3f}"
    assert f"interval is {interval}; all {n} labels give {every}." in words_of("tutorial.md")
    fall = 100 * compared.gaps["probability"].gap.value
    for said in (
        f"Accuracy falls by {fall:.1f} points",
        f"`naive-bayes` is overconfident by {over['naive-bayes']:.1f} points",
        f"`random-forest` underconfident by {-over['random-forest']:.1f}.",
    ):
        assert said in words_of("tutorial.md")
    for said in (f"has {n} scans", f"All labels give {every}", f"differ on {len(work)} datapoints"):
        assert said in words_of("few-labels.md")
