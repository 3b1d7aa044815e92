"""Estimators without labels of 2021 to 2026: small cases by hand, invariants, and limits."""

from dataclasses import replace

import numpy as np
import pytest

from matcheval.accuracy_prediction.scores import SCORES
from matcheval.accuracy_prediction.scores.confidence import NO_THRESHOLD, fit_temperature
from matcheval.accuracy_prediction.scores.features import dispersion
from matcheval.accuracy_prediction.scores.outputs import ClassRule, from_logits, restrict, softmax
from matcheval.accuracy_prediction.scores.probabilities import mano, transport
from matcheval.accuracy_prediction.scores.score import NotAvailableError, Sides, Sources
from matcheval.accuracy_prediction.scoring import ModelScorer

NAMES = [
    "cot", "cott", "cott:released", "mano", "mano:plain", "dispersion", "dispersion:as_published",
    "classwise_atc", "classwise_doc", "classwise_ts",
]  # fmt: skip


def outputs(n, seed, shift=0.0, k=4):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    logits = rng.normal(size=(n, k))
    logits[np.arange(n), labels] += 2.5 - shift
    return from_logits(2 * logits, labels, features=logits.astype(np.float32))


BASE, TARGET = outputs(400, 0), outputs(300, 1, shift=1.0)


def value(name, base=BASE, target=TARGET, sources=None):
    score = SCORES[name]
    return score.compute(score.fitted(Sources(sources or base)), Sides(base, target))


@pytest.mark.parametrize("name", NAMES)
def test_order_of_datapoints_changes_nothing_and_accuracies_fall_with_the_shift(name):
    order = np.random.default_rng(0).permutation(len(TARGET))
    found = value(name)
    assert value(name, target=TARGET.rows(order)) == pytest.approx(found, abs=1e-9)
    if SCORES[name].predicts == "accuracy":
        assert TARGET.accuracy - 0.1 < found < BASE.accuracy
    near = value(name, target=outputs(300, 1))
    assert near > found


def cot(probabilities, shares=None, **options):
    n_classes = probabilities.shape[1]
    shares = np.full(n_classes, 1 / n_classes) if shares is None else shares
    return 1 - transport(probabilities, shares, **options)[0].mean()


class TestTransport:
    def test_large_sets_are_cut_at_random(self, monkeypatch):
        monkeypatch.setattr("matcheval.accuracy_prediction.scores.probabilities._MOST", 20)
        p = softmax(np.random.default_rng(2).normal(size=(50, 3)))
        cut, again = (cot(p, seed=0) for _ in range(2))
        monkeypatch.undo()
        assert cut == again
        assert cut == pytest.approx(cot(p), abs=0.05)
        assert cut < cot(p)  # a part has fewer ways

    def test_resamples_of_its_values_are_those_of_the_optimum(self):
        """By the dual of the transport, which is not solved again."""
        score, sides = SCORES["cot"], Sides(BASE, TARGET)
        state, n = score.fitted(Sources(BASE)), len(TARGET)
        values = score.values(sides, state)
        assert values.mean() == pytest.approx(score.compute(state, sides), abs=1e-12)
        draws = np.random.default_rng(3).integers(n, size=(100, n))
        solved = [score.compute(state, Sides(BASE, TARGET.rows(rows))) for rows in draws]
        means = values[draws].mean(axis=1)
        assert np.corrcoef(solved, means)[0, 1] > 0.9
        assert means.std() == pytest.approx(np.std(solved), rel=0.1)

    def test_confidences_are_scaled_and_classes_cut(self):
        rule = ClassRule(((0,), (1, 3)), renormalise=True)
        base, target = (restrict(one, rule, one is BASE) for one in (BASE, TARGET))
        temperature = fit_temperature(BASE.logits, BASE.labels)
        p = softmax(TARGET.logits[np.isin(TARGET.labels, (0, 1, 3))][:, [0, 1, 3]], temperature)
        grouped = np.stack([p[:, 0], p[:, 1:].max(axis=1)], axis=1)
        shares = np.bincount(base.labels) / len(base)
        assert value("cot", base, target, BASE) == pytest.approx(cot(grouped, shares), abs=1e-12)

    def test_limits_are_said(self):
        right = replace(BASE, labels=BASE.predicted)
        assert value("atc_mc", right).note == value("classwise_atc", right).note != ""
        found = value("cott", right)
        assert (float(found), found.note) == (1, NO_THRESHOLD)
        (row,) = ModelScorer(Sources(right), [SCORES["cott"]]).rows(
            Sides(right, TARGET), with_pool_scores=True
        )
        assert (row["score"], row["reason"]) == (1, found.note)


def test_the_base_decides_how_mano_normalises_and_another_wish_is_noted():
    sure = from_logits(20 * np.eye(4)[BASE.predicted], BASE.labels)
    found = value("mano", sure)
    assert float(found) == mano(TARGET.logits, normalisation="softmax").score
    assert "normalised otherwise" in found.note
    assert value("mano", BASE).note == ""
    some = restrict(TARGET, ClassRule(((0,), (2,))), is_base=False)
    expected = mano(some.logits[:, [0, 2]], normalisation="softmax").score
    assert float(value("mano", sure, some)) == expected


def test_dispersion_needs_classes_of_unequal_means_and_no_number_of_rows():
    features, predicted = np.array([[0.0, 0], [2, 0], [4, 0]]), np.array([1, 1, 7])
    for n in (1, 2):  # means (1, 0) and (4, 0) of 2 n and n rows around (2, 0): (2 · 1 + 4) n / 3 n
        rows = np.tile(features, (n, 1)), np.tile(predicted, n)
        assert dispersion(*rows, per_row=True) == pytest.approx(np.log(2))
    with pytest.raises(NotAvailableError, match="of one class"):
        value("dispersion", target=TARGET.rows(TARGET.predicted == 0))
    with pytest.raises(NotAvailableError, match="the same mean in every predicted class"):
        dispersion(np.full((3, 2), 0.1), np.array([1, 1, 7]))
