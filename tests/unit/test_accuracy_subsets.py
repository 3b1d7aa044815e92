"""Label subsets and groups: against a literal reading of the rule, and bad input."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcheval.accuracy_prediction.scores.outputs import (
    ClassRule,
    Outputs,
    class_rule,
    from_logits,
    restrict,
)
from matcheval.errors import InputError
from matcheval.inference.statistics import FeatureStatistics

PETS = ClassRule(((1, 3), (0,)))  # of four classes; class 2 does not count


def outputs(seed=0, n=40, k=6):
    generator = np.random.default_rng(seed)
    return from_logits(generator.normal(0, 2, (n, k)), generator.integers(0, k, n))


def literally(p, label, rule):
    """One datapoint by the specification's words: prediction correct, confidence, entropy."""
    columns = [k for group in rule.columns for k in group]
    total = sum(p[k] for k in columns) if rule.renormalise else 1
    combine = {"max": max, "sum": sum, "mean": lambda v: sum(v) / len(v)}[rule.group_probability]
    confidence = [combine([p[k] / total for k in group]) for group in rule.columns]
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
    members = draw(st.sampled_from(["max", "mean", "sum"]))
    return ClassRule(tuple(columns), draw(st.booleans()), draw(st.booleans()), members)


@given(rules(), st.integers(0, 99), st.booleans())
@settings(deadline=None)
def test_agrees_with_the_rule_taken_literally(rule, seed, with_logits):
    whole = outputs(seed)
    whole = whole if with_logits else replace(whole, logits=None)
    kept = [i for i in range(40) if any(whole.labels[i] in group for group in rule.columns)]
    expected = [literally(whole.probabilities[i], whole.labels[i], rule) for i in kept]
    found = restrict(whole, rule, is_base=True)
    correct, confidences, entropies = zip(*expected, strict=True)
    assert found.correct.tolist() == list(correct)
    np.testing.assert_allclose(found.confidences, confidences, atol=1e-12)
    np.testing.assert_allclose(found.entropies, entropies, atol=1e-12)


def test_all_classes_cost_nothing_and_unlabelled_targets_keep_all_datapoints():
    whole = outputs()
    everything = ClassRule(tuple((k,) for k in range(6)), renormalise=True)
    assert restrict(whole, ClassRule(), True) is whole
    assert restrict(whole, everything, False) is whole
    nameless = replace(whole, labels=None)
    statistics = FeatureStatistics(40, *np.zeros((4, 1)))
    unlabelled = restrict(replace(nameless, statistics=statistics), ClassRule(((2,),)), False)
    np.testing.assert_array_equal(unlabelled.confidences, whole.probabilities[:, 2])
    assert unlabelled.statistics is statistics
    assert restrict(replace(whole, statistics=statistics), PETS, True).statistics is None


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
    for renormalise, confidence in ((False, 0), (True, 1 / (1 + np.exp(-1)))):
        rule = ClassRule(((1,), (2,)), renormalise)
        cut = restrict(far, rule, True)
        assert cut.correct.all()
        assert cut.confidences[0] == pytest.approx(confidence)
    with pytest.raises(InputError, match=r"'renormalise': on 1 of 1 datapoints"):
        restrict(replace(far, logits=None), rule, True)


def test_rules_from_names():
    base = ("cat", "dog", "fox", "owl")
    assert class_rule(base, ["owl", "cat", "bat"]).columns == ((0,), (3,))
    assert class_rule(base, base[::-1]).columns == ()
    summed = ClassRule(group_probability="sum")
    groups = class_rule(base, {"bird": ["owl"], "pet": ["dog", "cat"]}, summed)
    assert groups == replace(summed, columns=((3,), (1, 0)))
    with pytest.raises(InputError, match=r"no class in common.*cat, dog, fox, owl.*bat"):
        class_rule(base, ["bat"])
    with pytest.raises(InputError, match=r"'groups'.*unknown class.*'wolf'"):
        class_rule(base, {"wild": ["fox", "wolf"]})


@pytest.mark.parametrize(
    ("change", "rule", "is_base", "message"),
    [
        ({"labels": None}, PETS, True, "the base set has no labels"),
        ({"probabilities": None, "logits": None}, PETS, False, r"Switch on .*\[logits\]"),
        ({"labels": np.full(40, 2)}, PETS, True, "no datapoint of the base set is of a class that"),
        ({"labels": np.full(40, 2)}, PETS, False, "no datapoint of the target"),
        ({"labels": np.full(40, -2)}, PETS, False, "label -2 of the target is out of range"),
        ({"labels": np.full(40, 6)}, PETS, False, "label 6 of the target is out of range: .* 6 cl"),
    ],
)
def test_bad_input(change, rule, is_base, message):
    with pytest.raises(InputError, match=message):
        restrict(replace(outputs(), **change), rule, is_base)


@pytest.mark.parametrize("labels", [None, np.empty((0, 2), int)])
def test_no_datapoints(labels):
    empty = Outputs(labels, np.empty(0, int), np.empty(0))
    with pytest.raises(InputError, match="no datapoint of the target"):
        restrict(empty, ClassRule(), False)
