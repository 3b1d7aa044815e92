"""Scores of probabilities: invariants and references; cuts to some classes, taken literally."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from matcheval.accuracy_prediction.scores import SCORES, confidence, outputs
from matcheval.accuracy_prediction.scores.confidence import BRACKET, fit_temperature, mean_loss
from matcheval.accuracy_prediction.scores.outputs import (
    ClassRule,
    Outputs,
    class_rule,
    from_logits,
    restrict,
    softmax,
)
from matcheval.accuracy_prediction.scores.probabilities import nuclear_norm
from matcheval.accuracy_prediction.scores.score import Sides, Sources
from matcheval.errors import InputError
from matcheval.inference.outputs import FeatureStatistics, RunningStatistics

# Those of predicted classes and probabilities; scores of features have tests of their own.
NAMES = [
    "base_accuracy", "ac", "doc", "doc_feat", "prediction_score_0.7", "prediction_score_0.8",
    "prediction_score_0.9", "ac_temperature", "doe", "entropy", "atc_mc", "atc_ne",
    "atc_mc:garg_code", "atc_ne:garg_code", "atc_ne:autoeval_baselines", "nuclear_norm",
]  # fmt: skip


def calibrated(generator, n, k=4, spread=2.0):
    """Outputs of a model whose softmax is the truth: labels are drawn from it."""
    logits = generator.normal(0, spread, (n, k))
    chances = softmax(logits).cumsum(axis=1)
    labels = (generator.random((n, 1)) > chances[:, :-1]).sum(axis=1)
    return from_logits(logits, labels)


def value(name, base, target):
    score = SCORES[name]
    return score.compute(score.fitted(Sources(base)), Sides(base, target))


@st.composite
def sides(draw):
    generator = np.random.default_rng(draw(st.integers(0, 9999)))
    k = draw(st.integers(2, 6))
    spreads = draw(st.tuples(*[st.floats(0.5, 6)] * 2))
    return [calibrated(generator, draw(st.integers(5, 60)), k, spread) for spread in spreads]


@given(sides())
@settings(max_examples=25, deadline=None)
def test_invariants(both):
    base, target = both
    for name in ("doc", "doe"):
        assert value(name, base, base) == 0
    for name in ("atc_mc", "atc_ne"):
        assert value(name, base, base) == base.accuracy  # exactly, as there are no ties
    order = np.random.default_rng(0).permutation(len(target))
    moved = [from_logits(one.logits + 1000.0, one.labels) for one in both]
    for name in NAMES:
        expected = value(name, base, target)
        assert value(name, base, target.rows(order)) == pytest.approx(expected, nan_ok=True), name
        # Rounding at 1000 moves a threshold's own datapoint, so ATC may move by one datapoint.
        slack = 1.01 / len(target) if name.startswith("atc") else 1e-6
        assert value(name, *moved) == pytest.approx(expected, abs=slack, nan_ok=True), name


def test_no_other_temperature_has_a_smaller_loss():
    generator = np.random.default_rng(1)
    for true in (0.4, 1.0, 3.0):
        base = calibrated(generator, 400)
        found = fit_temperature(base.logits * true, base.labels)
        scaled = [base.logits * true / (found * factor) for factor in (1, 0.5, 0.999, 1.001, 2)]
        losses = [np.mean(logsumexp(z, 1) - z[range(400), base.labels]) for z in scaled]
        assert np.argmin(losses) == 0
    sure = from_logits(30 * np.eye(3), [0, 1, 2])  # losses of 1e-13 and less
    assert fit_temperature(sure.logits, sure.labels) == pytest.approx(BRACKET[0], rel=1e-4)
    assert fit_temperature(sure.logits, np.array([1, 2, 0])) == pytest.approx(BRACKET[1], rel=1e-4)


def test_temperature_of_a_subset_is_that_of_all_classes():
    """The softmax at the temperature is over all classes, and only then cut."""
    base = calibrated(np.random.default_rng(2), 200)
    rule = ClassRule(((0,), (2,)))
    cut = restrict(base, rule, True)
    score = SCORES["ac_temperature"]
    fitted = score.fitted(Sources(base))
    expected = softmax(base.logits[np.isin(base.labels, (0, 2))], fitted)[:, [0, 2]]
    assert score.compute(fitted, Sides(cut, cut)) == pytest.approx(expected.max(axis=1).mean())


@pytest.mark.parametrize(("n", "k"), [(50, 7), (7, 50), (1, 3)])
def test_nuclear_norm_against_singular_values(n, k):
    """Of a matrix of low rank, too, and from the statistics of a forward pass."""
    generator = np.random.default_rng(n)
    p = softmax(generator.normal(0, 3, (n, 2)) @ generator.normal(0, 1, (2, k)))
    expected = np.linalg.svd(p, compute_uv=False).sum() / np.sqrt(min(n, k) * n)
    assert nuclear_norm(p) == pytest.approx(expected, abs=1e-7)
    running = RunningStatistics()
    running.add(np.zeros((n, 1), np.float32), p)
    only = Outputs(None, p.argmax(1), p.max(1), statistics=running.result())
    assert value("nuclear_norm", only, only) == pytest.approx(expected, abs=1e-6)


def test_atc_at_its_limits():
    """Pitfalls of the published variants: see the docstring of the module."""
    generator = np.random.default_rng(3)
    some = calibrated(generator, 100)
    right, wrong = (replace(some, labels=(some.predicted + k) % 4) for k in (0, 1))
    for name in ("atc_mc", "atc_ne"):
        assert (value(name, right, some), value(name, wrong, some)) == (1, 0)
    assert value("atc_mc:garg_code", right, some) == 1
    assert value("atc_ne:garg_code", right, some) == 0
    assert np.isnan(value("atc_ne:autoeval_baselines", right, some))


def test_size_of_blocks_changes_nothing(monkeypatch):
    some = calibrated(np.random.default_rng(5), 50)
    loss = mean_loss(some.logits, some.labels, 2.0)
    again = from_logits(some.logits, some.labels)
    monkeypatch.setattr(outputs, "_BLOCK", 3 * 4)
    monkeypatch.setattr(confidence, "_BLOCK", 3 * 4)
    np.testing.assert_array_equal(again.entropies, some.entropies)
    assert mean_loss(some.logits, some.labels, 2.0) == pytest.approx(loss, rel=1e-14)


PETS = ClassRule(((1, 3), (0,)))  # of four classes; class 2 does not count


def drawn(seed=0, n=40, k=6):
    generator = np.random.default_rng(seed)
    return from_logits(generator.normal(0, 2, (n, k)), generator.integers(0, k, n))


def literally(p, label, rule):
    """One datapoint by the specification's words: prediction correct, confidence, entropy."""
    columns = [k for group in rule.columns for k in group]
    total = sum(p[k] for k in columns) if rule.renormalise else 1
    confidence = [max(p[k] / total for k in group) for group in rule.columns]
    entropy = -sum(p[k] / total * np.log(p[k] / total) for k in columns)
    top = int(np.argmax(confidence))
    correct = label in rule.columns[top]
    if not rule.restrict_argmax:
        chosen = next((group for group in rule.columns if int(np.argmax(p)) in group), ())
        correct = label in chosen
    return correct, max(confidence), entropy


@st.composite
def rules(draw):
    classes = draw(st.permutations(range(6)))
    used = draw(st.integers(1, 6))
    ends = sorted({*draw(st.lists(st.integers(1, used), max_size=3)), used})
    columns = [tuple(classes[a:b]) for a, b in zip([0, *ends], ends, strict=False)]
    return ClassRule(tuple(columns), draw(st.booleans()), draw(st.booleans()))


@given(rules(), st.integers(0, 99), st.booleans())
@settings(deadline=None)
def test_agrees_with_the_rule_taken_literally(rule, seed, with_logits):
    whole = drawn(seed)
    whole = whole if with_logits else replace(whole, logits=None)
    kept = [i for i in range(40) if any(whole.labels[i] in group for group in rule.columns)]
    expected = [literally(whole.probabilities[i], whole.labels[i], rule) for i in kept]
    found = restrict(whole, rule, is_base=True)
    correct, confidences, entropies = zip(*expected, strict=True)
    assert found.correct.tolist() == list(correct)
    np.testing.assert_allclose(found.confidences, confidences, atol=1e-12)
    np.testing.assert_allclose(found.entropies, entropies, atol=1e-12)


def test_unlabelled_targets_keep_all_datapoints():
    whole = drawn()
    whole = replace(whole, statistics=FeatureStatistics(40, *np.zeros((4, 1))))
    unlabelled = restrict(replace(whole, labels=None), ClassRule(((2,),)), False)
    np.testing.assert_array_equal(unlabelled.confidences, whole.probabilities[:, 2])
    assert unlabelled.statistics is whole.statistics
    assert restrict(whole, PETS, True).statistics is None


def test_several_labels_and_classes_that_the_base_does_not_have():
    """A frame is predicted correctly if the top group is among its labels."""
    p = np.array([[0.1, 0.2, 0.6, 0.1], [0.5, 0.4, 0.0, 0.1], [0.1, 0.1, 0.7, 0.1]])
    labels = np.array([[0, 3], [1, -1], [2, -1]])
    cut = restrict(Outputs(labels, p.argmax(1), p.max(1), probabilities=p), PETS, False)
    assert cut.labels.tolist() == [[1, 0], [0, -1]]  # the third's class does not count
    assert cut.predicted.tolist() == [0, 1]
    assert cut.correct.tolist() == [True, False]
    unknown = from_logits(np.eye(3), [0, -1, 2])
    assert len(restrict(unknown, ClassRule(), False)) == 2


def test_tiny_probabilities_are_compared_by_their_logits():
    far = from_logits(np.array([[2000.0, 1.0, 2.0, 0.0]]), [2])
    for renormalise, expected in ((False, 0), (True, 1 / (1 + np.exp(-1)))):
        rule = ClassRule(((1,), (2,)), renormalise)
        cut = restrict(far, rule, True)
        assert cut.correct.all()
        assert cut.confidences[0] == pytest.approx(expected)
    with pytest.raises(InputError, match=r"'renormalise': on 1 of 1 datapoints"):
        restrict(replace(far, logits=None), rule, True)


def test_rules_from_names():
    base, rule = ("cat", "dog", "fox", "owl"), ClassRule(renormalise=True)
    groups = class_rule(base, {"bird": ["owl"], "pet": ["dog", "cat"]}, rule)
    assert groups == replace(rule, columns=((3,), (1, 0)))
    with pytest.raises(InputError, match=r"no class in common.*cat, dog, fox, owl.*bat"):
        class_rule(base, ["bat"])


@pytest.mark.parametrize(
    ("change", "rule", "is_base", "message"),
    [
        ({"labels": None}, PETS, True, "the base set has no labels"),
        ({"probabilities": None, "logits": None}, PETS, False, r"Switch on .*\[logits\]"),
        ({"labels": np.full(40, 2)}, PETS, False, "no datapoint of the target"),
        ({"labels": np.full(40, 6)}, PETS, False, "label 6 of the target is out of range: .* 6 cl"),
    ],
)
def test_bad_input(change, rule, is_base, message):
    with pytest.raises(InputError, match=message):
        restrict(replace(drawn(), **change), rule, is_base)
