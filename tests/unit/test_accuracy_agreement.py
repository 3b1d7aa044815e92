"""Agreement of models and ALine: against literal loops over pairs, and recovered truth."""

import numpy as np
import pytest
from scipy.stats import norm

from matcheval.accuracy_prediction.scores.agreement import (
    POOL_SCORES,
    Agreements,
    agreement,
    aline_d,
    aline_s,
    mean_agreement,
)
from matcheval.accuracy_prediction.scores.score import NotAvailableError


def models(generator, labels, accuracy, k=10):
    """Predictions of models that err independently."""
    wrong = (labels + generator.integers(1, k, (len(accuracy), len(labels)))) % k
    right = generator.random(wrong.shape) < np.asarray(accuracy)[:, None]
    return np.where(right, labels, wrong).astype(np.int16)


def pool(seed=0, n=400, accuracy=(0.6, 0.7, 0.75, 0.8, 0.85, 0.9), drop=0.15):
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 10, (2, n))
    base = models(generator, y[0], accuracy)
    target = models(generator, y[1], np.array(accuracy) - drop)
    return base, y[0], target


def of(base, labels, target):
    return Agreements(agreement(target), agreement(base), (base == labels).mean(axis=1))


def literally(base, labels, target):
    """ALine-S and ALine-D as the specification has them, in loops over pairs."""
    n = len(base)
    acc = [norm.ppf(np.mean(one == labels)) for one in base]
    pairs = []
    for i in range(n):
        for j in range(n):
            known, new = np.mean(base[i] == base[j]), np.mean(target[i] == target[j])
            if i != j and 0.05 <= known <= 0.98 and 0.05 <= new <= 0.98:
                pairs.append((i, j, norm.ppf(known), norm.ppf(new)))
    slope, bias = np.polyfit([p[2] for p in pairs], [p[3] for p in pairs], 1)
    rows, wanted = [], []
    for i, j, known, new in pairs:
        rows.append([(k == i) / 2 + (k == j) / 2 for k in range(n)])
        wanted.append(new + slope * ((acc[i] + acc[j]) / 2 - known))
    w = np.linalg.pinv(np.array(rows)) @ wanted
    return norm.cdf(slope * np.array(acc) + bias), norm.cdf(w)


@pytest.mark.parametrize("dtype", [np.int16, np.int64])
def test_agreement_by_a_literal_count(dtype):
    predictions = pool(n=203)[0].astype(dtype)
    expected = [[np.mean(a == b) for b in predictions] for a in predictions]
    np.testing.assert_allclose(agreement(predictions), expected, rtol=1e-15)
    means = [np.mean([e for j, e in enumerate(row) if j != i]) for i, row in enumerate(expected)]
    np.testing.assert_allclose(
        mean_agreement(Agreements(agreement(predictions), None, None)), means
    )


@pytest.mark.parametrize("seed", range(3))
def test_aline_by_literal_loops(seed):
    some = pool(seed)
    single, double = literally(*some)
    np.testing.assert_allclose(aline_s(of(*some)), single, atol=1e-9)
    np.testing.assert_allclose(aline_d(of(*some)), double, atol=1e-9)


def test_aline_recovers_accuracies_on_a_line():
    """Agreements and accuracies on one line of the probit scale, in closed form."""
    accuracy = np.linspace(0.5, 0.9, 8)
    base = norm.cdf(np.add.outer(norm.ppf(accuracy), norm.ppf(accuracy)) / 2)
    exact = Agreements(norm.cdf(0.8 * norm.ppf(base) - 0.3), base, accuracy)
    for estimate in (aline_s, aline_d):
        np.testing.assert_allclose(estimate(exact), norm.cdf(0.8 * norm.ppf(accuracy) - 0.3))


def test_models_outside_of_the_pool_have_no_influence_on_it():
    agreements = of(*pool())
    inside = np.array([True, True, True, True, False, False])
    for score in POOL_SCORES.values():
        found = score.of_models(agreements, inside)
        alone = score.compute(agreements.among(np.arange(4)))
        np.testing.assert_array_equal(found[:4], alone)
        joined = score.compute(agreements.among(np.array([0, 1, 2, 3, 5])))
        assert found[5] == joined[4]
    found = POOL_SCORES["ms_aol"].of_models(agreements, inside)
    assert found[4] == pytest.approx(agreements.target[4, :4].mean())


def test_too_few_pairs_and_models_that_no_pair_determines():
    base, labels, target = pool()
    with pytest.raises(NotAvailableError, match=r"in \[0.05, 0.98\] on base and target: 1; .* 3"):
        aline_s(of(base[:2], labels, target[:2]))
    same = np.repeat(base[:1], 6, axis=0)
    with pytest.raises(NotAvailableError, match="target: 0;"):
        aline_d(of(same, labels, same))
    agreements = of(base, labels, target)
    agreements.target[5, :] = agreements.target[:, 5] = 0.99  # no usable pair
    assert np.isnan(aline_d(agreements)).tolist() == [False] * 5 + [True]
    square = Agreements(np.ones((4, 4)), agreements.base[:4, :4], agreements.accuracy[:4])
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 0)):  # a constant may be moved along such a cycle
        square.target[i, j] = square.target[j, i] = 0.5 + 0.1 * i
    assert np.isnan(aline_d(square)).all()
    square.target[0, 2] = square.target[2, 0] = 0.6
    assert np.isfinite(aline_d(Agreements(square.target, square.base, square.accuracy))).all()
    perfect = of(
        np.concatenate([base, labels[None].astype(np.int16)]), labels, target[[*range(6), 0]]
    )
    for estimate in (aline_s, aline_d):  # the probit of the last one's accuracy is infinite
        assert np.isnan(estimate(perfect)).tolist() == [False] * 6 + [True]
    level = Agreements(agreements.target[:5, :5], np.full((5, 5), 0.7), agreements.accuracy[:5])
    with pytest.raises(NotAvailableError, match="agree equally often on the base"):
        aline_s(level)
