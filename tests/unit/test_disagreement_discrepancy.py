"""DIS²: the bound by hand, the loss and the trained critics against independent ones, bad input.

The critics are trained by torch.
"""

import numpy as np
import pytest
from scipy.optimize import minimize

from matcheval.accuracy_prediction.scores.disagreement_discrepancy import (
    accuracy_bound,
    dis2_bound,
    disagreement_loss,
)
from matcheval.errors import InputError


def features(n, shift, seed, k=3):
    """The model sees the first features only; where there is a shift, others tell another class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    x = rng.normal(size=(n, 2 * k))
    x[np.arange(n), labels] += 3
    x[np.arange(n), k + (labels + 1) % k] += shift
    return x, x[:, :k].argmax(axis=1), labels


def bound(base, target, **options):
    x, predicted, labels = base
    return accuracy_bound(x, predicted, predicted == labels, *target[:2], 3, **options)


def test_by_hand():
    found = dis2_bound(0.9, 0.8, 0.7, 100, 50, delta=np.exp(-2))
    assert found.epsilon == pytest.approx(np.sqrt((100 + 200) * 2 / (2 * 100 * 50)))
    assert found.lower_bound == pytest.approx(0.9 - 0.1 - found.epsilon)
    assert dis2_bound(0.5, 1, 0, 100, 100).lower_bound == 0
    np.testing.assert_allclose(
        disagreement_loss([[2.0, 0, -2], [0, 0, 0]], [0, 1]), np.log([1 + np.exp(3), 2])
    )
    assert disagreement_loss([[1e4, 0]], [0]).tolist() == [1e4]


def test_a_shift_that_critics_can_see_lowers_the_bound():
    base = features(800, 0, 0)
    same, shifted = (bound(base, features(600, s, 1), epochs=20, restarts=5) for s in (0, 4))
    assert same.epsilon == shifted.epsilon == dis2_bound(1, 1, 1, 400, 300).epsilon
    accuracy = np.mean(base[1] == base[2])
    assert accuracy - 0.1 < same.lower_bound + same.epsilon < accuracy + 0.03
    assert shifted.lower_bound < same.lower_bound - 0.1


@pytest.mark.slow
def test_critics_reach_the_optimum_of_the_loss():
    """The held-out difference is about that of an independent solver, on other halves."""
    base, target = features(800, 0, 0), features(800, 3, 1)
    found = bound(base, target, epochs=150, restarts=1)
    sides = [(x[:400], p[:400]) for x, p, _ in (base, target)]

    def logits(x, flat):
        return x @ flat.reshape(7, 3)[:6] + flat.reshape(7, 3)[6]

    def loss(flat):
        (z, p), (v, q) = ((logits(x, flat), predicted) for x, predicted in sides)
        entropy = np.logaddexp.reduce(z, axis=1) - z[np.arange(400), p]
        return (entropy.mean() + disagreement_loss(v, q).mean()) / 2

    best = minimize(loss, np.zeros(21)).x
    agree = [np.mean(logits(x, best).argmax(1)[400:] == p[400:]) for x, p, _ in (base, target)]
    assert agree[0] - agree[1] > 0.3
    expected = np.mean(base[1] == base[2]) - (agree[0] - agree[1]) - found.epsilon
    assert found.lower_bound == pytest.approx(expected, abs=0.06)


def test_seeds_determine_the_bound():
    base, target = features(200, 0, 0), features(90, 2, 1)
    some = {"epochs": 3, "restarts": 2}
    assert bound(base, target, **some) == bound(base, target, **some)
    assert bound(base, target, **some) != bound(base, target, **some, seed=1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((1.2, 1, 1, 5, 5), "'accuracy_base': is 1.2"),
        ((1, np.nan, 1, 5, 5), "'agree_base': is nan"),
        ((1, 1, 1, 5, 0), "'n_target': is 0"),
        ((1, 1, 1, 5, 5, 0), r"'delta': is 0. Give one in \(0, 1\)"),
    ],
)
def test_shares_and_counts_out_of_range(values, message):
    with pytest.raises(InputError, match=message):
        dis2_bound(*values)


def test_input_that_does_not_fit():
    base, (x, predicted, _) = features(20, 0, 0), features(20, 0, 1)
    for wrong, message in [
        ((x[:, :2], predicted), "'features_target': 2 features where the base has 6"),
        ((x * np.nan, predicted), "'features_target': has non-finite"),
        ((x, predicted + 1), "3 classes, and predictions of 1 to 3"),
        ((x[:1], predicted[:1]), "at least 2 datapoints"),
    ]:
        with pytest.raises(InputError, match=message):
            bound(base, wrong)
    with pytest.raises(InputError, match="'correct_base': has shape"):
        accuracy_bound(x, predicted, predicted[:3] == 0, x, predicted, 3)
    with pytest.raises(InputError, match="'logits': 1 classes"):
        disagreement_loss([[1.0]], [0])
