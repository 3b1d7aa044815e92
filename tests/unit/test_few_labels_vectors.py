"""Every case with known results of few_labels.json: all formulas of accuracy from few labels."""

import dataclasses
import json
from importlib import import_module

import numpy as np
import pytest

from vectors import VECTORS

PATH = VECTORS / "few_labels.json"
CASES = json.loads(PATH.read_text(encoding="utf-8"))["cases"] if PATH.is_file() else []
MODULES = ("intervals", "control", "strata", "active", "differences", "planning", "sequences")
# What the cases call results that are plain numbers or arrays here.
PLAIN = {
    "make_strata": "stratum", "allocate": "n", "inclusion_probabilities": "pi",
    "labels_for_variance": "n", "labels_needed": "n", "labels_for_clopper_pearson": "n",
    "pilot_variance_upper": "variance",
}  # fmt: skip


def function(name):
    modules = [import_module(f"matcheval.few_labels.{one}") for one in MODULES]
    return next(getattr(one, name) for one in modules if hasattr(one, name))


@pytest.mark.skipif(
    not CASES, reason=f"no test vectors at {PATH}; MATCHEVAL_SHARED names the folder above spec/"
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case):
    name, expected = case["function"], dict(case["outputs"])
    if "error" in expected:
        with pytest.raises(ValueError, match=r"\w"):
            function(name)(**case["inputs"])
        return
    found = function(name)(**case["inputs"])
    if name in PLAIN:
        found = {PLAIN[name]: found}
    else:
        found = {one.name: getattr(found, one.name) for one in dataclasses.fields(found)}
    if name == "lure":
        inputs = case["inputs"]
        found["weights"] = function("lure_weights")(inputs["q"], inputs["N"])
    if expected.pop("basis", None):  # no label: the confidences only
        assert np.isnan(found["se"])
    for key, value in expected.items():
        if value is None:
            assert found[key] is None, key
        else:
            numbers = np.asarray(value, np.float64)
            assert found[key] == pytest.approx(numbers, rel=0, abs=case["tolerance"]), key
