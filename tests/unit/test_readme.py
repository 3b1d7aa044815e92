"""The README's numbers are those of docs/digits, and near those of other processors."""

import importlib.util
import sys

import pandas as pd
import pytest

from matcheval.protocol.criteria import Criterion
from studies import ROOT

TOLERANCE = 0.3  # percentage points, as the README says
# Means over the 20 models on seven combinations of processor and settings, in percentage points:
# of |gap|, and of |matched gap| by criterion.
SEEN = {"gap": (4.26, 4.46), "label_probability": (1.58, 1.73), "probability": (2.52, 2.68)}


def make_readme(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    spec = importlib.util.spec_from_file_location("make_readme", ROOT / "docs" / "make_readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop("take_over")
    return module


def test_the_table_is_made_by_its_script(monkeypatch):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    module = make_readme(monkeypatch)
    assert module.take_over(readme, module.digits) == readme
    assert "within sampling error of 0" in module.digits("digits")


@pytest.mark.parametrize("criterion", list(Criterion))
def test_the_tolerance_is_kept(criterion):
    table = pd.read_csv(ROOT / "docs" / "digits" / f"{criterion.value}.csv")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"within {TOLERANCE} points of those here" in " ".join(readme.split())
    for name, values in (("gap", table.gap), (criterion.value, table.matched_gap_mean)):
        found = 100 * values.abs().mean()
        low, high = SEEN[name]
        assert high - TOLERANCE <= found <= low + TOLERANCE
