"""Every case with known results of baselines.json: estimators of accuracy without labels."""

import json

import numpy as np
import pytest

from matcheval.accuracy_prediction.intervals import line_intervals
from matcheval.accuracy_prediction.scores.agreement import agreement
from matcheval.accuracy_prediction.scores.features import dispersion
from matcheval.accuracy_prediction.scores.probabilities import (
    classwise,
    cost_threshold,
    mano,
    share_below,
    transport,
)
from matcheval.accuracy_prediction.scores.score import NotAvailableError
from vectors import VECTORS

PATH = VECTORS / "baselines.json"
ALL = json.loads(PATH.read_text(encoding="utf-8"))["cases"] if PATH.is_file() else []
# The file has cases of estimators that are not here: importance weights and DIS².
GONE = {
    "importance_histogram", "importance_discriminator", "mandoline", "dis2_bound",
    "disagreement_loss",
}  # fmt: skip
CASES = [case for case in ALL if case["function"] not in GONE]


def cott(probs_base, labels_base, probs_target, class_distribution):
    n_classes = len(class_distribution)
    shares = np.bincount(labels_base, minlength=n_classes) / len(labels_base)
    errors = int((probs_base.argmax(axis=1) != labels_base).sum())
    limit = cost_threshold(transport(probs_base, shares)[0], errors)
    costs, _ = transport(probs_target, class_distribution)
    return {"accuracy": share_below(costs, limit), "threshold": limit}


def of_classes(labels_base, logits_base, **inputs):
    correct = logits_base.argmax(axis=1) == labels_base
    return vars(classwise(logits_base=logits_base, correct_base=correct, **inputs))


def cot(probs, class_distribution=None):
    n_classes = probs.shape[1]
    equal = np.full(n_classes, 1 / n_classes)
    costs, _ = transport(probs, equal if class_distribution is None else class_distribution)
    return {"accuracy": 1 - costs.mean()}


def ends(score, accuracy, new_score, level, group=None):
    group = np.arange(len(score)) if group is None else group
    units = np.unique(group, return_inverse=True)[1]
    ends = line_intervals(score, accuracy, units, np.array([new_score]), level=level)
    lower, upper = np.clip(ends, 0, 1)[:, 0]
    return {"lower": lower, "upper": upper}


def of_agreement(predictions):
    """The mean agreement of all pairs of trainings: what `gde` is for models of one recipe."""
    if np.ndim(predictions) != 2 or len(predictions) < 2 or not predictions.shape[1]:
        raise ValueError("no pairs")
    return {"accuracy": agreement(predictions)[np.triu_indices(len(predictions), 1)].mean()}


FUNCTIONS = {
    "cot": cot,
    "cott": cott,
    "mano": lambda **inputs: vars(mano(**inputs)),
    "dispersion": lambda **inputs: {"score": dispersion(**inputs)},
    "classwise": of_classes,
    "disagreement": of_agreement,
    "jackknife_plus": ends,
    "grouped_jackknife_plus": ends,
}


@pytest.mark.skipif(
    not CASES, reason=f"no test vectors at {PATH}; MATCHEVAL_SHARED names the folder above spec/"
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case):
    is_list = {name: isinstance(value, list) for name, value in case["inputs"].items()}
    inputs = {k: np.array(v) if is_list[k] else v for k, v in case["inputs"].items()}
    function, expected = FUNCTIONS[case["function"]], case["outputs"]
    if "error" in expected:
        with pytest.raises((ValueError, NotAvailableError), match=r"\w"):
            function(**inputs)
        return
    found = function(**inputs)
    for key, value in expected.items():
        if isinstance(value, str) and "inf" not in value:
            assert found[key] == value, key
        else:
            numbers = np.asarray(value, np.float64)
            assert found[key] == pytest.approx(
                numbers, rel=0, abs=case["tolerance"], nan_ok=True
            ), key
