"""Scores of features and rotations on the specification's numeric cases."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from matcheval.accuracy_prediction.moments import frechet_distance, moments_of_features
from matcheval.accuracy_prediction.scores.discriminators import discrimination
from matcheval.accuracy_prediction.scores.linear_classifier import error_rate

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


CASES = {"frechet.as_printed_eq10": _frechet, "disc_auc": _auc, "a_proxy": _a_proxy}


@pytest.fixture(scope="module")
def cases():
    if not VECTORS.is_file():
        pytest.skip(f"the specification's vectors are not here: {VECTORS}")
    return {case["id"]: case for case in json.loads(VECTORS.read_text())["cases"]}


@pytest.mark.parametrize("name", CASES)
def test_case(name, cases):
    case = cases[name]
    assert CASES[name](case["inputs"]) == pytest.approx(case["expected"], abs=case["tol"], rel=0)
