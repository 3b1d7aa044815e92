"""The tables in docs/accuracy-prediction.md are those of the errors on file beside it."""

import make_accuracy_page
import pandas as pd
from make_accuracy_page import KEPT, block, errors
from take_over import PROSE, take_over, untold_numbers
from test_accuracy_differences import SETS
from test_accuracy_tables import errors_of, predictions

from matcheval.accuracy_prediction.differences import tabulate_differences
from studies import ROOT


def test_the_page_is_made_by_its_script():
    page = (ROOT / "docs" / "accuracy-prediction.md").read_text(encoding="utf-8")
    assert take_over(page, block) == page, "make accuracy-docs"
    assert "| DoC | 4.2 [3.3, 5.1] | 152.5 |" in errors("cifar10-shifts")


def in_percent(file):
    """All fractions of the tables that a block of the page is made from, in percent."""
    tables = [pd.read_csv(one).select_dtypes("float") for one in KEPT.glob(f"{file}*.csv")]
    return {f"{100 * abs(value):.1f}" for one in tables for value in one.to_numpy().ravel()}


def test_numbers_in_prose_are_in_the_tables():
    """`<!-- numbers FILE -->` marks prose about the block of this name."""
    page = (ROOT / "docs" / "accuracy-prediction.md").read_text(encoding="utf-8")
    assert len(PROSE.findall(page)) == 2
    assert untold_numbers(page, in_percent) == []
    small = "<!-- begin t -->\n| 4.0 | 0.12 |\n<!-- end -->\n<!-- numbers t -->\n{}\n<!-- end -->\n"
    told = small.format("4.0 of 7 points, not 4.1 [0.12, 3.5]")
    assert untold_numbers(told, lambda file: {"3.5"}) == ["t: 4.1"]


def test_errors_and_paired_differences_are_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(make_accuracy_page, "KEPT", tmp_path)
    found = predictions(SETS, ("calibrated", "linear", "Syn1"))
    of_groups = errors_of(found).query("subgroup == 'all'")
    of_groups.to_csv(tmp_path / "new.csv", index=False)
    tabulate_differences(found, 0.95).to_csv(tmp_path / "new-differences.csv", index=False)
    shown = block("new").splitlines()
    assert shown[2].startswith("| AC | 1.0 [1.0, 1.0] |")
    assert len(block("new/differences").splitlines()) == 2 + 3
