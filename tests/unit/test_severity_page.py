"""The tables of `severity` in docs/results.md are those of the means on file; so is its text."""

import make_severity_page as page
import pytest
from take_over import BLOCK, take_over

from studies import ROOT

TEXT = page.PAGE.read_text(encoding="utf-8")


def test_the_page_is_made_by_its_script():
    blocks = {block[2]: block[0] for block in BLOCK.finditer(TEXT)}
    for name in page.BLOCKS:
        made = take_over(blocks[name], lambda block: page.BLOCKS[block]())
        assert made == blocks[name], "make severity-docs"


def test_its_text_states_numbers_of_the_table():
    said = " ".join(TEXT.split())
    found = page.read("cifar10-shifts")
    weak, strong = (page.over_kinds(found.loc[n]) for n in (1, 5))
    assert strong[2]["share"] < weak[1]["share"]  # "less of it where they are large"
    kinds = found.drop(index=0.0, level="severity").groupby("subgroup")
    shares = 100 * kinds["confidence_part"].sum() / kinds["gap"].sum()
    assert f"between {shares.min():.0f} and {shares.max():.0f} %" in said
    assert (shares.idxmin(), shares.idxmax()) == ("gaussian_noise", "elastic_transform")
    clear = found["first_clear"].groupby("severity").sum()
    assert f"for {clear[1]} of 19 kinds" in said
    assert (clear[3:] == 19).all()
    assert clear[2] < 19


def test_means_over_kinds_by_hand():
    rows = page.pd.DataFrame(
        {"gap": [1.0, 3.0], "confidence_part": [1.0, 1.0], "share": [float("nan")] * 2}
    )
    value, low, high = page.over_kinds(rows)
    assert value["gap"] == 2
    assert value["share"] == 50  # the ratio of sums, not the mean of 100 and 33
    assert (low["share"], high["share"]) == (pytest.approx(100 / 3), 100)
    assert (ROOT / "docs" / "severity" / "cifar10-shifts-severity.png").is_file()
