"""Every case with known results of few_labels.json, but for designs that the product has not."""

import dataclasses
import inspect
import json
from importlib import import_module

import numpy as np
import pytest

from matcheval.statistics.significance import mcnemar
from vectors import VECTORS

PATH = VECTORS / "few_labels.json"
MODULES = ("estimators", "draws", "plans")
OTHERS = {"wilson", "ppi", "active", "inclusion_probabilities", "lure"}
# What the cases call results that are plain numbers or arrays here.
PLAIN = {
    "make_strata": "stratum", "allocate": "n", "labels_for_variance": "n", "labels_needed": "n",
    "labels_for_clopper_pearson": "n", "pilot_variance_upper": "variance",
}  # fmt: skip
CASES = json.loads(PATH.read_text(encoding="utf-8"))["cases"] if PATH.is_file() else []
OURS = [case for case in CASES if case["function"] not in OTHERS]


def function(name):
    modules = [import_module(f"matcheval.few_labels.{module}") for module in MODULES]
    return next(getattr(module, name) for module in modules if hasattr(module, name))


@pytest.mark.skipif(
    not CASES, reason=f"no test vectors at {PATH}; MATCHEVAL_SHARED names the folder above spec/"
)
@pytest.mark.parametrize("case", OURS, ids=lambda case: case["name"])
def test_case(case):
    name, inputs, expected = case["function"], dict(case["inputs"]), dict(case["outputs"])
    call = function(name)
    half_width = inputs.pop("half_width", None) if "stop" in expected else None
    known = inspect.signature(call).parameters
    inputs = {k: v for k, v in inputs.items() if v is not None or k in known}
    if "error" in expected:
        with pytest.raises(ValueError, match=r"\w"):
            call(**inputs)
        return
    result = call(**inputs)
    found = {PLAIN[name]: result} if name in PLAIN else dataclasses.asdict(result)
    if "stop" in expected:
        found["stop"] = result.stop(half_width)
    if name == "disagreement_difference":
        found["mcnemar_p"] = mcnemar(inputs["d"].count(1), inputs["d"].count(-1))
    if name == "plan_variances":
        expected = {key: expected[key] for key in ("control", "mixed_control")}
    if expected.pop("basis", None):  # no label: the confidences only
        assert np.isnan(found["se"])
    for key, value in expected.items():
        if value is None:
            assert found[key] is None, key
        else:
            numbers = np.asarray(value, np.float64)
            assert found[key] == pytest.approx(numbers, rel=0, abs=case["tolerance"]), key
