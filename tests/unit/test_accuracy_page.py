"""The tables in docs/accuracy-prediction.md are those of the errors on file beside it."""

from make_accuracy_page import errors
from take_over import take_over

from studies import ROOT


def test_the_page_is_made_by_its_script():
    page = (ROOT / "docs" / "accuracy-prediction.md").read_text(encoding="utf-8")
    assert take_over(page, errors) == page, "make accuracy-docs"
    cells = "|  | 4.2 | 152.5 | 2.5 | 3.6 | 17.0 | [6.2, 37.3] | [12.8, 21.4] |"
    assert f"| calibrated on Syn1 | DoC {cells}" in errors("cifar10-shifts")
