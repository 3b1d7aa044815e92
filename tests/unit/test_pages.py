"""Numbers on pages are those of their tables, and those of the digits near other processors'."""

import make_accuracy_page
import make_domains_page
import make_readme
import make_replication_page
import make_severity_page
import pandas as pd
import pytest
from take_over import take_over

from matcheval.protocol.settings import Criterion
from studies import ROOT

TOLERANCE = 0.3  # percentage points, as the page says
# Means over the 20 models on seven combinations of processor and settings, in percentage points:
# of |gap|, and of |matched gap| by criterion.
SEEN = {"gap": (4.26, 4.46), "label_probability": (1.58, 1.73), "probability": (2.52, 2.68)}


def words_of(page):
    return " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())


def points(value, shown=".1f"):
    return f"{100 * value:{shown}}".replace("-", "−")


def interval_of(row, name, shown=".1f"):
    low, high = (points(row[f"{name}_{end}"], shown) for end in ("low", "high"))
    return f"{points(row[name], shown)} [{low}, {high}]"


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
    assert take_over(page, read) == page, script.__name__


def test_means_over_kinds_of_corruptions_by_hand():
    rows = pd.DataFrame(
        {"gap": [1.0, 3.0], "confidence_part": [1.0, 1.0], "share": [float("nan")] * 2}
    )
    value, low, high = make_severity_page.over_kinds(rows)
    assert value["gap"] == 2
    assert value["share"] == 50  # the ratio of sums, not the mean of 100 and 33
    assert (low["share"], high["share"]) == (pytest.approx(100 / 3), 100)


def test_tables_of_pages_are_made_by_their_script():
    named = set()
    for name in make_readme.PAGES:
        page = (ROOT / name).read_text(encoding="utf-8")
        entered = lambda block: named.add(block) or make_readme.BLOCKS[block]()  # noqa: E731
        assert take_over(page, entered) == page, name
    assert named == set(make_readme.BLOCKS)


@pytest.mark.parametrize("criterion", list(Criterion))
def test_the_tolerance_is_kept(criterion):
    name = "accuracies" if criterion is Criterion.LABEL_PROBABILITY else criterion.value
    table = pd.read_csv(ROOT / "docs" / "digits" / f"{name}.csv")
    assert f"within {TOLERANCE} points of those here" in words_of("results.md")
    for name, values in (("gap", table.gap), (criterion.value, table.matched_gap_mean)):
        found = 100 * values.abs().mean()
        low, high = SEEN[name]
        assert high - TOLERANCE <= found <= low + TOLERANCE
