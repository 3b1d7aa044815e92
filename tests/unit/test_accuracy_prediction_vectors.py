"""The specification's numeric cases: accuracy prediction, and estimators of baselines.json."""

import json

import numpy as np
import pytest

from matcheval.accuracy_prediction.predicting import line_intervals
from matcheval.accuracy_prediction.scores import SCORES, confidence
from matcheval.accuracy_prediction.scores.agreement import Agreements, agreement, mean_agreement
from matcheval.accuracy_prediction.scores.features import (
    discrimination,
    dispersion,
    error_rate,
    frechet_distance,
    orientation_accuracy,
)
from matcheval.accuracy_prediction.scores.outputs import (
    ClassRule,
    Outputs,
    from_logits,
    moments_of_features,
    restrict,
)
from matcheval.accuracy_prediction.scores.probabilities import (
    classwise,
    cost_threshold,
    mano,
    share_within,
    transport,
)
from matcheval.accuracy_prediction.scores.score import NotAvailableError, Sides
from matcheval.inference.readers import quarter_turns
from vectors import VECTORS, case
from vectors import shared as shared_inputs


def sides(subset=False, **rule):
    """Base and target of the file, perhaps of the classes K_T."""
    shared = shared_inputs("accuracy_prediction")
    both = [from_logits(np.array(shared[f"logits_{d}"]), shared[f"y_{d}"]) for d in "BT"]
    if subset:
        rule = ClassRule(tuple((k,) for k in shared["K_T"]), **rule)
        both = [
            restrict(outputs, rule, is_base)
            for outputs, is_base in zip(both, (True, False), strict=True)
        ]
    return Sides(*both)


def score(name, on=None):
    on = sides() if on is None else on
    return SCORES[name].compute(None, on)


def of_both(name, subset=False):
    """A score of the target alone, of both sides."""
    on = sides(subset)
    return {"B": score(name, Sides(on.base, on.base)), "T": score(name, on)}


def given(probabilities=(), confidences=()):
    """A target of which probabilities or confidences are given."""
    p = np.array(probabilities, float)
    confidences = p.max(axis=1) if len(p) else np.array(confidences)
    target = Outputs(None, np.zeros(len(confidences), int), confidences, probabilities=p)
    return Sides(target, target)


def prediction_scores(inputs):
    on = given(confidences=inputs["max_prob"])
    return {str(tau): score(f"prediction_score_{tau}", on) for tau in inputs["taus"]}


def thresholded(name, choose, of):
    """Threshold, and share on source and target."""
    on = sides()
    wrong = int((~on.base.correct).sum())
    found = {"threshold": choose(of(on.base), wrong), "pred": score(name, on)}
    source = score(name, Sides(on.base, on.base))
    return found | {"source_pred": source, "pred_acc": found["pred"]}


def agreements(inputs):
    base, target = (agreement(np.array(inputs[f"pred_{d}"], np.int16)) for d in ("id", "ood"))
    means = mean_agreement(Agreements(target, base, None))
    return {"matrix_id": base, "matrix_ood": target, "ms_aol_score": means}


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
    "base_acc.full": lambda _: score("base_accuracy"),
    "base_acc.subset_restricted_argmax": lambda _: score("base_accuracy", sides(True)),
    "base_acc.subset_unrestricted_argmax": lambda _: score(
        "base_accuracy", sides(True, restrict_argmax=False)
    ),
    "target_acc.restricted_argmax": lambda _: sides(True).target.accuracy,
    "ac.full": lambda _: of_both("ac"),
    "ac.subset": lambda _: of_both("ac", subset=True),
    "doc.full": lambda _: score("doc"),
    "doc_feat.pred_acc.full": lambda _: score("doc_feat"),
    "delta_acc.subset": lambda _: sides(True).base.accuracy - sides(True).target.accuracy,
    "entropy.full": lambda _: of_both("entropy"),
    "entropy.subset": lambda _: of_both("entropy", subset=True),
    "doe.full": lambda _: score("doe"),
    "entropy.zero_prob": lambda inputs: score("entropy", given(inputs["probs"])),
    "pred_score": prediction_scores,
    "atc_mc": lambda _: thresholded("atc_mc", confidence.threshold, lambda o: o.confidences),
    "atc_mc.variant_garg_code": lambda _: thresholded(
        "atc_mc:garg_code", confidence.garg_threshold, lambda o: o.confidences
    ),
    "atc_ne.variant_autoeval_baselines": lambda _: thresholded(
        "atc_ne:autoeval_baselines", confidence.accuracy_quantile, lambda o: -o.entropies
    ),
    "nuclear_norm.balanced_onehot": lambda inputs: score("nuclear_norm", given(inputs["probs"])),
    "nuclear_norm.uniform": lambda inputs: score(
        "nuclear_norm", given(np.full((inputs["N"], inputs["K"]), 1 / inputs["K"]))
    ),
    "agreement": agreements,
    "frechet.as_printed_eq10": _frechet,
    "disc_auc": _auc,
    "a_proxy": _a_proxy,
    "rotation_convention": _turned,
    "rotation_acc": _orientation_accuracy,
}


@pytest.mark.parametrize("name", CASES)
def test_numeric_case(name):
    one = case("accuracy_prediction", name)
    found, expected = CASES[name](one["inputs"]), one["expected"]
    if not isinstance(expected, dict):
        found, expected = {"": found}, {"": expected}
    for part, value in expected.items():
        np.testing.assert_allclose(found[part], value, rtol=0, atol=one.get("tol", 0), err_msg=part)


# --- Further estimators, of baselines.json

FILE = VECTORS / "baselines.json"
_ALL = json.loads(FILE.read_text(encoding="utf-8"))["cases"] if FILE.is_file() else []
# The file has cases of estimators that are not here: importance weights and DIS².
GONE = {
    "importance_histogram", "importance_discriminator", "mandoline", "dis2_bound",
    "disagreement_loss",
}  # fmt: skip
BASELINES = [case for case in _ALL if case["function"] not in GONE]


def cott(probs_base, labels_base, probs_target, class_distribution):
    n_classes = len(class_distribution)
    shares = np.bincount(labels_base, minlength=n_classes) / len(labels_base)
    errors = int((probs_base.argmax(axis=1) != labels_base).sum())
    limit = cost_threshold(transport(probs_base, shares)[0], errors)
    costs, _ = transport(probs_target, class_distribution)
    return {"accuracy": share_within(costs, limit), "threshold": limit}


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


@pytest.mark.skipif(not BASELINES, reason=f"no test vectors at {FILE}")
@pytest.mark.parametrize("case", BASELINES, ids=lambda case: case["name"])
def test_baseline(case):
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
