"""Jackknife+ intervals over sets, against loops that fit each line again."""

import math

import numpy as np
import pytest

from matcheval.accuracy_prediction.intervals import both_intervals, line_intervals


def literally(x, y, new, level, group):
    """The specification's words: fit without a group, its residuals, order statistics."""
    lower, upper = [], []
    for i in range(len(x)):
        kept = group != group[i]
        line = np.polyfit(x[kept], y[kept], 1)
        residual = abs(y[i] - np.polyval(line, x[i]))
        lower.append(np.polyval(line, new) - residual)
        upper.append(np.polyval(line, new) + residual)
    n, alpha = len(x), 1 - level
    first, last = (round(end, 9) for end in (alpha * (n + 1), level * (n + 1)))
    k, m = math.floor(first), math.ceil(last)
    return (sorted(lower)[k - 1] if k else -np.inf, sorted(upper)[m - 1] if m <= n else np.inf)


def points(n, seed, n_groups=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, 0.5 + 0.1 * x + rng.normal(0, 0.02, n), rng.permutation(np.arange(n) % n_groups)


@pytest.mark.parametrize("n", [9, 12, 20])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_they_are_those_of_loops(n, level):
    x, y, group = points(n, n)
    for units in (np.arange(n), group):
        found = line_intervals(x, y, units, np.array([0.3, -5.0]), level=level)
        for i, new in enumerate((0.3, -5.0)):
            expected = literally(x, y, new, level, units)
            assert (found.lower[i], found.upper[i]) == pytest.approx(expected, abs=1e-9)
        others = line_intervals(x, y, units, level=level)  # each set from all others
        for j in range(n):
            kept = np.arange(n) != j
            expected = literally(x[kept], y[kept], x[j], level, units[kept])
            assert (others.lower[j], others.upper[j]) == pytest.approx(expected, abs=1e-9)


def test_by_hand():
    """Lines without each set are at 0: -0.2, -3/70, -3/70, 0; residuals 0.2, 3/70, 6/35, 0.3."""
    x, y = np.arange(4.0), np.array([0, 0.1, 0.2, 0.6])
    found = line_intervals(x, y, np.arange(4), np.zeros(1), level=0.5)
    # The second smallest of -0.4, -0.3, -0.21, -0.09, and the third of 0, 0, 9/70, 0.3.
    assert (found.lower[0], found.upper[0]) == pytest.approx((-0.3, 9 / 70), abs=1e-12)
    assert found.cut().lower[0] == 0


def test_they_shift_with_the_accuracies_and_are_mirrored_for_gaps():
    x, y, group = points(15, 0)
    new = np.array([0.2])
    one = both_intervals(x, y, group, new)
    gaps = both_intervals(x, 0.9 - y, group, new, base=np.array([0.9]))
    shifted = both_intervals(x, y + 0.05, group, new)
    for name in ("sets_low", "sets_high", "groups_low", "groups_high"):
        assert gaps[name] == pytest.approx(one[name], abs=1e-12)
        assert shifted[name] == pytest.approx(one[name] + 0.05, abs=1e-12)
    assert one["n_groups"] == 5


def test_groups_that_move_together_need_wider_intervals():
    """Sets of a group share score and error: leaving out one of ten hides that error."""
    rng, widths = np.random.default_rng(0), {"sets": 0.0, "groups": 0.0}
    group = np.repeat(np.arange(4), 10)
    for _ in range(100):
        x = rng.normal(size=4)[group] + rng.normal(0, 0.1, 40)
        y = 0.5 + 0.01 * x + rng.normal(0, 0.05, 4)[group]
        found = both_intervals(x, y, group, np.zeros(1))
        for name in widths:
            widths[name] += (found[f"{name}_high"] - found[f"{name}_low"]).item()
    assert widths["groups"] > 1.5 * widths["sets"]


def test_of_too_few_sets_they_are_unbounded_or_undefined():
    x, y, group = points(8, 0, n_groups=2)
    found = both_intervals(x, y, group, np.zeros(1))
    assert (found["sets_low"].item(), found["sets_high"].item()) == (0, 1)
    assert np.isnan(found["groups_low"]).all()  # of two groups
    nothing = both_intervals(np.ones(9), np.linspace(0, 1, 9), np.arange(9))
    assert np.isnan(nothing["sets_low"]).all()
