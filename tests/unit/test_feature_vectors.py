"""Scores of features and rotations on the specification's numeric cases."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from matcheval.accuracy_prediction.scores.features import (
    discrimination,
    error_rate,
    frechet_distance,
)
from matcheval.accuracy_prediction.scores.outputs import moments_of_features
from matcheval.accuracy_prediction.scores.rotation import orientation_accuracy
from matcheval.inference.readers import quarter_turns

SHARED = os.environ.get("MATCHEVAL_SHARED", Path(__file__).resolve().parents[3] / "shared")
VECTORS = Path(SHARED) / "spec" / "vectors" / "accuracy_prediction.json"


def _frechet(inputs):
    base, target = (moments_of_features(np.array(inputs[key])) for key in ("feat_B", "feat_T"))
    return frechet_distance(base, target, as_printed=True)


def _auc(inputs):
    return discrimination(np.array(inputs["domain"]), np.array(inputs["score"])).auc


def _a_proxy(inputs):
    domains, scores = np.array(inputs["domain"]), np.array(inputs["score"])
    error = error_rate(domains, (scores > inputs["threshold"]).astype(np.int64))
    found = discrimination(domains, scores, inputs["threshold"])
    return {"error": error, "a_proxy": found.a_proxy}


def _turned(inputs):
    copies = quarter_turns(np.array([inputs["image"]], np.uint8))[0]
    return {str(90 * k): copy.tolist() for k, copy in enumerate(copies)}


def _orientation_accuracy(inputs):
    """Every orientation in turn, so that four cases are one image."""
    assert inputs["true"] == [0, 1, 2, 3] * (len(inputs["true"]) // 4)
    return orientation_accuracy(np.eye(4)[inputs["pred"]].reshape(-1, 4, 4))


CASES = {
    "frechet.as_printed_eq10": _frechet,
    "disc_auc": _auc,
    "a_proxy": _a_proxy,
    "rotation_convention": _turned,
    "rotation_acc": _orientation_accuracy,
}


@pytest.fixture(scope="module")
def cases():
    if not VECTORS.is_file():
        pytest.skip(f"the specification's vectors are not here: {VECTORS}")
    return {case["id"]: case for case in json.loads(VECTORS.read_text())["cases"]}


@pytest.mark.parametrize("name", CASES)
def test_case(name, cases):
    case = cases[name]
    found, expected = CASES[name](case["inputs"]), case["expected"]
    if name == "rotation_convention":
        assert found == expected
    else:
        assert found == pytest.approx(expected, abs=case["tol"], rel=0)
