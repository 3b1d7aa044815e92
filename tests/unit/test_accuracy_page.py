"""The tables in docs/accuracy-prediction.md are those of the errors on file beside it."""

import importlib.util
import sys

from studies import ROOT


def test_the_page_is_made_by_its_script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    spec = importlib.util.spec_from_file_location("page", ROOT / "docs" / "make_accuracy_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop("take_over")
    page = (ROOT / "docs" / "accuracy-prediction.md").read_text(encoding="utf-8")
    assert module.take_over(page, module.errors) == page, "make accuracy-docs"
    cells = "|  | 4.2 | 152.5 | 2.5 | 3.6 | 17.0 | [6.2, 37.3] | [12.8, 21.4] |"
    assert f"| calibrated on Syn1 | DoC {cells}" in module.errors("cifar10-shifts")
